import { expect, it } from 'vitest'
import { pointsOf } from '../../../../../../handlers/dashboard/page/pipeline/points.ts'

const sample = (at: number, fps: number) => ({ at, fps, bitrate: 0, readers: 0, age: null })

it('a chart has a gap where samples are missing, as in a hidden tab, but not after a slow answer', () => {
  const samples = [sample(100, 25), sample(102, 24), sample(120, 25), sample(200, 26), sample(202, 27)]
  expect(pointsOf(samples, ({ fps }) => fps)).toEqual([
    [100, 25],
    [102, 24],
    [120, 25],
    [160, null],
    [200, 26],
    [202, 27],
  ])
  expect(pointsOf([], ({ fps }) => fps)).toEqual([])
})
