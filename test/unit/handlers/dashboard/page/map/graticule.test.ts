import { describe, expect, it } from 'vitest'
import { degreeText, lineDegrees } from '../../../../../../handlers/dashboard/page/map/graticule.ts'

describe('the lines of the map', () => {
  it.each([
    [-90, 90, 6, 30, [-90, -60, -30, 0, 30, 60, 90]],
    [-27.62, -27.58, 5, 0.01, [-27.62, -27.61, -27.6, -27.59, -27.58]],
    [10.00001, 10.00002, 3, 0.0001, []],
  ])('from %f to %f, about %i of them, are %f degrees apart', (low, high, most, step, degrees) => {
    const lines = lineDegrees(low, high, most)
    expect(lines.step).toBe(step)
    expect(lines.degrees.map((degree) => Number(degree.toFixed(6)))).toEqual(degrees)
  })

  it.each([
    [48.25, 0.05, '48.25° N'],
    [-27.6, 0.01, '27.60° S'],
    [0, 30, '0°'],
    [-0.0000001, 0.1, '0.0°'],
  ])('have labels: %f is %s', (degree, step, text) => {
    expect(degreeText(degree, step, ['N', 'S'])).toBe(text)
  })
})
