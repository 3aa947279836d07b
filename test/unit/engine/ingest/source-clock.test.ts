import { expect, it } from 'vitest'
import { SourceClock } from '../../../../engine/ingest/source-clock.ts'

const WALL_MS = 1_700_000_000_000

/** Corrections after reports every 5 s, the sound 2 s after the video; its running times are `errorsMs` behind, and what was corrected less. */
const corrections = (errorsMs: readonly number[], { drift = 0, begins = 'video' } = {}): readonly number[] => {
  const clock = new SourceClock()
  let moved = 0
  const take = (): number => {
    const correction = Math.round(clock.takeCorrection())
    moved += correction
    return correction
  }
  // The media clock runs faster than the wall clock by `drift`.
  const running = (atMs: number): number => atMs * (1 + drift)
  const video = (atMs: number): void => clock.reportVideo(WALL_MS + atMs, running(atMs))
  const sound = (atMs: number, errorMs: number): void => clock.reportSound(WALL_MS + atMs, running(atMs) - errorMs + moved)
  return errorsMs.map((errorMs, at) => {
    if (begins === 'video') video(at * 5000)
    sound(at * 5000 + 2000, errorMs)
    if (begins === 'sound') video(at * 5000 + 3000)
    return take()
  })
}

it('moves the sound at once by an error that is plain, and another one when it is seen twice', () => {
  expect(corrections([300, 300, 300])).toEqual([300, 0, 0])
  expect(corrections([4, 300, 300, 300])).toEqual([0, 0, 300, 0])
  expect(corrections([35, 35, 35])).toEqual([0, 35, 0])
})

it('moves the sound as soon as both have reported, whichever is first', () => {
  expect(corrections([300, 300], { begins: 'sound' })).toEqual([300, 0])
})

it('leaves right times as they are, and those of clocks that make no sense', () => {
  expect(corrections([8, -8, 0, 9])).toEqual([0, 0, 0, 0])
  expect(corrections([60_000, 60_000])).toEqual([0, 0])
  expect(corrections([0, 500, -500, 0])).toEqual([0, 0, 0, 0])
})

it.each([0.01, -0.01])('takes no error from a media clock whose speed is off by %d', (drift) => {
  expect(corrections(Array(8).fill(0), { drift })).toEqual(Array(8).fill(0))
  expect(corrections(Array(8).fill(0), { drift, begins: 'sound' })).toEqual(Array(8).fill(0))
})
