import { expect, it } from 'vitest'
import { StreamClock } from '../../../../engine/rtp/stream-clock.ts'
import { Timeline } from '../../../../engine/rtp/timeline.ts'
import { capsOf, H264_CAPS } from '../../../helpers/rtsp/packets.ts'

const HOUR = 3_600_000
const FRAME_MS = 40

/** `hostMs`, `sourceMs`: how far each clock went on while the host was suspended. `backlog`: frames that waited in the host's buffers. */
it.each([
  ['the clock of the host stands, that of the source goes on', 0, 7 * HOUR, 0],
  ['the same, for longer than 32 bits hold', 0, 20 * HOUR, 0],
  ['both stand, or the source waits', 0, 0, 0],
  ['both go on', 7 * HOUR, 7 * HOUR, 0],
  ['both go on, and older frames come first', 7 * HOUR, 7 * HOUR, 20],
  ['the clock of the host goes on, that of the source stands', HOUR, 0, 0],
  ['the same, for longer than half of 32 bits hold', 7 * HOUR, 0, 0],
  ['the same, for longer than 32 bits hold', 20 * HOUR, 0, 0],
  ['a short suspend', 0, 6000, 0],
])('goes on after a suspend: %s', (_what, hostMs, sourceMs, backlog) => {
  const timeline = new Timeline(0)
  const clock = new StreamClock(timeline, 0)
  clock.begin(0)
  clock.setCaps(capsOf(H264_CAPS))
  let [nowMs, sentMs] = [100, 100]
  const next = () => {
    sentMs += FRAME_MS
    return clock.map((sentMs * 90) % 2 ** 32, nowMs).mediaMs
  }
  const play = (frames: number): readonly number[] =>
    Array.from({ length: frames }, () => {
      nowMs += FRAME_MS
      return next()
    })
  const before = play(2000)
  nowMs += hostMs
  const late = Array.from({ length: backlog }, next)
  sentMs += Math.max(0, sourceMs - backlog * FRAME_MS)
  const times = [...before, ...late, ...play(25)]
  const steps = times.slice(1).map((time, at) => time - (times[at] ?? 0))
  expect(Math.min(...steps)).toBeGreaterThan(0)
  expect(steps.filter((step) => step > 2 * FRAME_MS).length).toBeLessThanOrEqual(2)
  expect(Math.max(...steps)).toBeLessThanOrEqual(Math.max(hostMs, sourceMs) + FRAME_MS + 1)
  // A sender report says when the present picture is shown.
  const behindMs = (clock.timestampNow(nowMs) - clock.timestampAt(times.at(-1) ?? 0)) / 90
  expect(Math.abs(behindMs)).toBeLessThan(2 * FRAME_MS)
})
