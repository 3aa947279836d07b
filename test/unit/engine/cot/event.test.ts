import { describe, expect, it } from 'vitest'
import { cotEvent } from '../../../../engine/cot/event.ts'
import { geolocationOf } from '../../../../lib/st0601/geolocation.ts'
import { parseCot } from '../../../fixtures/klv/cot.ts'
import { packetOf, type TagValues } from '../../../fixtures/klv/local-set.ts'

const NOW = Date.UTC(2026, 10, 21, 12, 0, 0, 250)

const eventOf = (values: TagValues, videoUrl: string | null = null, id = 'uav-1'): string => {
  const packet = packetOf(values)
  const geolocation = geolocationOf(packet) ?? expect.fail('no position')
  return cotEvent({ id, packet, geolocation, videoUrl }, NOW, 'north')
}
const parsed = (...args: Parameters<typeof eventOf>) => parseCot(eventOf(...args))

const HERE = { 13: -27.6, 14: -48.5 }

describe('an event of Cursor on Target', () => {
  it('has the position, the height above the ellipsoid, the sensor and the video', () => {
    const values = { 2: (NOW - 2000) * 1000, 5: 90, 6: 0, 7: 0, ...HERE, 15: 100, 75: 200, 104: 300, 16: 20, 18: 315, 19: -30, 21: 1500 }
    const { event, point, contact, sensor, video } = parsed(values, 'rtsp://192.0.2.7:50000/uav-1')
    expect(event).toEqual({
      version: '2.0',
      uid: 'north/uav-1',
      type: 'a-f-A-M-F-Q',
      how: 'm-g',
      time: '2026-11-21T11:59:58.250Z',
      start: '2026-11-21T11:59:58.250Z',
      stale: '2026-11-21T12:00:08.250Z',
    })
    expect(point).toEqual({ lat: '-27.6000000', lon: '-48.5000000', hae: '300.00', ce: '9999999.0', le: '9999999.0' })
    expect(contact).toEqual({ callsign: 'uav-1' })
    expect(Number(sensor?.azimuth)).toBeCloseTo(45, 1)
    expect(Number(sensor?.fov)).toBeCloseTo(20, 1)
    expect(Number(sensor?.range)).toBeCloseTo(1500, 0)
    expect(video).toEqual({ url: 'rtsp://192.0.2.7:50000/uav-1' })
  })

  it.each([
    [{ 15: 100, 75: 200, 104: 300 }, 300],
    [{ 15: 100, 75: 200 }, 200],
    [{ 15: 100 }, 100],
    [{}, 9999999],
  ])('takes its height from tag 104, else 75, else 15: %j', (values, height) => {
    expect(Math.abs(Number(parsed({ ...HERE, ...values }).point.hae) - height)).toBeLessThan(0.2)
  })

  it.each([
    ['10 s ago', NOW - 10_000, NOW - 10_000],
    ['10 s ahead', NOW + 10_000, NOW + 10_000],
    ['longer ago', NOW - 10_001, NOW],
    ['further ahead', NOW + 10_001, NOW],
    ['in the year 2255', Number.MAX_SAFE_INTEGER / 1000, NOW],
  ])('of a packet dated %s has a time close to now', (_, sent, time) => {
    const { event } = parsed({ 2: Math.floor(sent * 1000), ...HERE })
    expect([event.time, event.stale]).toEqual([new Date(time).toISOString(), new Date(time + 10_000).toISOString()])
  })

  it('of a packet without a time has the time of now', () => {
    expect(parsed(HERE).event.time).toBe(new Date(NOW).toISOString())
  })

  it.each([
    ['heading and azimuth of the sensor', { 5: 350, 18: 20 }, 10],
    ['a sensor that looks over its back', { 5: 10, 18: 0, 19: -135 }, 190],
    ['a rolled platform, the sensor forward and down', { 5: 0, 7: 45, 18: 0, 19: -45 }, 360 - 35.26],
    ['a rolled platform in full range', { 5: 0, 7: null, 91: 45, 18: 0, 19: -45 }, 360 - 35.26],
    ['a pitched platform does not turn a sensor that looks forward', { 5: 45, 6: -15, 18: 0, 19: -45 }, 45],
    ['straight down: where the top of the picture points', { 5: 45, 18: 30, 19: -90 }, 75],
    ['straight down, and further than once around', { 5: 350, 18: 30, 19: -90 }, 20],
    ['north', { 5: 0, 18: 0, 19: 0 }, 0],
  ])('has the azimuth from true north: %s', (_, values, azimuth) => {
    const found = Number(parsed({ ...HERE, ...values }).sensor?.azimuth)
    expect(found).toBeGreaterThanOrEqual(0)
    expect(found).toBeLessThan(360)
    expect(Math.abs(((found - azimuth + 540) % 360) - 180)).toBeLessThan(0.05)
  })

  it('leaves out what the packet does not have', () => {
    expect(parsed(HERE)).toMatchObject({ sensor: undefined, video: undefined })
    expect(parsed({ ...HERE, 21: 7 }).sensor).toEqual({ range: '7.0' })
    expect(parsed({ ...HERE, 5: null, 16: 10 }).sensor).toEqual({ fov: expect.stringMatching(/^10\.0/) })
  })

  it('is well-formed whatever the texts hold', () => {
    const text = 'a&b<c>"d"\'e\'\u0000\u001f\uffff\ud800 é 🛩'
    const { video, event } = parsed(HERE, text, text)
    expect([`north/${video?.url}`, event.uid]).toEqual(Array(2).fill('north/' + 'a&b<c>"d"\'e\' é 🛩'))
  })
})
