import { describe, expect, it } from 'vitest'
import { longitudeNear, turnNear } from '../../../../../../handlers/dashboard/page/map/longitude.ts'

describe('a longitude on the map', () => {
  it('continues across the antimeridian, in both directions and more than once', () => {
    expect([longitudeNear(-179, 179), longitudeNear(179, -179), longitudeNear(10, 725)]).toEqual([181, -181, 730])
    expect([longitudeNear(0, 0), longitudeNear(-48.5, 11), longitudeNear(170, 20)]).toEqual([0, -48.5, 170])
  })
})

describe('a ring on the map', () => {
  const between = (west: number, east: number) => [west, east, east, west, west].map((longitude) => [longitude, 10])

  it('is beside its other part at the antimeridian, wherever the sensor is', () => {
    const [west, east] = [between(179.5, 180), between(-180, -179.9)]
    expect([turnNear(west, 179.4), turnNear(east, 179.4)]).toEqual([0, 360])
    expect([turnNear(west, -179.4), turnNear(east, -179.4)]).toEqual([-360, 0])
    expect([turnNear(west, 180.6), turnNear(east, 180.6)]).toEqual([0, 360])
  })

  it('around a pole stays whole', () => {
    expect(turnNear(between(-180, 180), 30)).toBe(0)
  })
})
