import { expect, it } from 'vitest'
import { StreamClock } from '../../../../engine/rtp/stream-clock.ts'
import { Timeline } from '../../../../engine/rtp/timeline.ts'
import { createRandom, rounds } from '../../../helpers/random.ts'
import { capsOf, H264_CAPS } from '../../../helpers/rtsp/packets.ts'

const FRAME = 3000

/** The media times of several runs whose sources give times that go back now and then, and begin anew at any time. */
const timesOfRuns = (seed: number, keepsOrder: boolean): readonly (readonly number[])[] => {
  const random = createRandom(seed)
  const timeline = new Timeline(0)
  const clock = new StreamClock(timeline, random.integer(2 ** 32))
  clock.keepsOrder = keepsOrder
  let nowMs = 1000
  return Array.from({ length: 5 }, () => {
    clock.begin(nowMs)
    if (random.chance(0.7)) clock.setCaps(capsOf(H264_CAPS))
    let raw = random.chance(0.5) ? random.integer(90_000) : random.integer(2 ** 32)
    const times = Array.from({ length: 60 }, () => {
      nowMs += random.chance(0.3) ? 0 : random.integer(80)
      if (random.chance(0.02)) raw += random.integer(2_000_000) - 1_000_000
      const jitter = random.chance(0.3) ? random.integer(15_000) : 0
      const { mediaMs } = clock.map((raw - jitter) >>> 0, nowMs)
      raw += FRAME
      return mediaMs
    })
    nowMs += random.integer(20_000)
    return times
  })
}

const rises = (times: readonly number[]): boolean => times.every((time, at) => at === 0 || time > (times[at - 1] ?? 0))

it('never goes back where no frame is reordered, whatever the times of its sources', () => {
  for (let seed = 1; seed <= rounds(40); seed += 1) expect(timesOfRuns(seed, true).flat(), `seed ${seed}`).toSatisfy(rises)
})

it('begins each run after all that came before, and leaves the order of reordered frames as it is', () => {
  let reordered = 0
  for (let seed = 1; seed <= rounds(40); seed += 1) {
    const runs = timesOfRuns(seed, false)
    for (const [at, [first = 0]] of runs.entries()) expect(first, `seed ${seed}`).toBeGreaterThan(Math.max(0, ...runs.slice(0, at).flat()))
    if (!rises(runs.flat())) reordered += 1
  }
  expect(reordered).toBeGreaterThan(rounds(40) / 2)
})

it('gives the slices of one picture, which came one by one, the same time', () => {
  const clock = new StreamClock(new Timeline(0), 0)
  clock.keepsOrder = true
  clock.begin(0)
  const times = [9000, 9000, 6000, 6000, 12_000].map((raw, at) => clock.map(raw, at).mediaMs)
  expect(times).toEqual([0, 0, 1, 1, 1000 / 30])
})
