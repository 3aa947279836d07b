import { expect, it } from 'vitest'
import { LiveSegments } from '../../../../engine/live/live-segments.ts'
import { TsMuxer } from '../../../../engine/mpegts/ts-muxer.ts'

const NOW = Date.parse('2026-11-20T10:00:00Z')
const FRAME_TICKS = 3600

/** Segments of 25 pictures a second; `send` adds pictures, the first of which is a key picture, from a frame on. */
const setUp = (more: Partial<ConstructorParameters<typeof LiveSegments>[0]> = {}) => {
  const segments = new LiveSegments({ before: undefined, firstStartedAt: undefined, format: () => 'avc1', now: () => NOW, ...more })
  const muxer = new TsMuxer()
  let frame = 0
  const send = (pictures: number, bytes = 100): void => {
    for (let at = 0; at < pictures; at += 1) {
      const ticks = frame * FRAME_TICKS
      const tables = muxer.tables({ videoType: 0x1b, klv: false, version: 0 } as Parameters<TsMuxer['tables']>[0])
      const picture = muxer.video([Buffer.alloc(bytes)], { pts: ticks, dts: ticks, key: at === 0 })
      segments.push(at % 3 === 0 ? Buffer.concat([tables, picture]) : picture)
      frame += 1
    }
  }
  const skip = (frames: number): void => {
    frame += frames
  }
  /** What the playlist says, without what stays the same; numbers count from that of the first segment. */
  const lines = (): readonly string[] =>
    segments
      .playlist('live')
      .split('\n')
      .filter((line) => /EXTINF|TARGET|DISCONTINUITY$|ENDLIST|^live/.test(line))
      .map((line) => line.replace(/live\/(\d+)/, (_, number) => `live/${Number(number) - NOW / 1000}`))
  return { segments, send, skip, lines }
}

it('cuts at the first key picture after two seconds, and lists the last six segments', () => {
  const { segments, send, lines } = setUp()
  for (let gop = 0; gop < 20; gop += 1) send(25)
  expect(lines()).toEqual(['#EXT-X-TARGETDURATION:2', ...[3, 4, 5, 6, 7, 8].flatMap((number) => ['#EXTINF:2.000,', `live/${number}.ts`])])
  const at = (number: number) => segments.find(`${NOW / 1000 + number}.ts`)
  // Those that a player may be reading stay for a while.
  expect([at(0), at(1)?.number, at(8)?.number, at(9), segments.find('x')]).toEqual([
    undefined,
    at(1)?.number,
    NOW / 1000 + 8,
    undefined,
    undefined,
  ])
  expect(at(1)?.bytes).toBe(Buffer.concat([...(at(1)?.packets ?? [])]).length)
  expect(segments.playlist('live')).toContain(`#EXT-X-PROGRAM-DATE-TIME:${new Date(NOW + 6000).toISOString()}`)
})

it('keeps the length that it announced where key pictures come late', () => {
  const { send, lines } = setUp()
  send(50)
  send(500)
  const seconds = lines().flatMap((line) => (line.startsWith('#EXTINF') ? [Number.parseFloat(line.slice(8))] : []))
  expect(seconds).toHaveLength(6)
  for (const length of seconds) expect(Math.round(length)).toBeLessThanOrEqual(2)
})

it('says where times do not continue, and ends', () => {
  const { segments, send, skip, lines } = setUp()
  send(50)
  send(10)
  segments.interrupt()
  skip(100)
  send(50)
  segments.end()
  const list = ['#EXT-X-TARGETDURATION:2', '#EXTINF:2.000,', 'live/0.ts', '#EXTINF:0.400,', 'live/1.ts']
  expect(lines()).toEqual([...list, '#EXT-X-DISCONTINUITY', '#EXTINF:2.000,', 'live/2.ts', '#EXT-X-ENDLIST'])
  const next = setUp({ before: segments })
  next.send(60)
  next.segments.end()
  // A player that goes on must see no number again.
  expect(next.lines()).toContain('live/3.ts')
  expect(next.segments.playlist('live')).toContain('#EXT-X-DISCONTINUITY-SEQUENCE:1\n#EXT-X-DISCONTINUITY\n')
})

it('keeps less than a hundred megabytes', () => {
  const { segments, send, skip } = setUp()
  for (let gop = 0; gop < 10; gop += 1) {
    send(1, 20_000_000)
    skip(49)
  }
  const bytes = [...Array(20).keys()].reduce((sum, number) => sum + (segments.find(`${NOW / 1000 + number}.ts`)?.bytes ?? 0), 0)
  expect(bytes).toBeGreaterThan(50_000_000)
  expect(bytes).toBeLessThan(100_000_000)
})
