import { expect, it, vi } from 'vitest'
import { FramedKlv } from '../../../../engine/live/framed-klv.ts'
import { VideoRecordParser } from '../../../../lib/video-records.ts'
import { fakeTimersInEachTest } from '../../../helpers/fake-timers.ts'

fakeTimersInEachTest()

const FRAME_MS = 40

/** A stream of frames, each with a number; what is written, and how long after its frame. */
const setUp = (hasKlv = true) => {
  const written: string[] = []
  const begunMs = performance.now()
  const framed = new FramedKlv({
    hasKlv: () => hasKlv,
    write: (bytes) => {
      const delay = (number: number): number => Math.round(performance.now() - begunMs - number * FRAME_MS)
      if (bytes.length === 1) written.push(`frame ${bytes[0]} +${delay(bytes[0] ?? 0)}`)
      else for (const { time } of new VideoRecordParser().push(bytes)) written.push(`klv ${(time / 1000 - begunMs) / FRAME_MS}`)
    },
  })
  const now = () => ({ arrivedMs: performance.now() })
  const frame = (number: number) => framed.addPicture({ mediaMs: begunMs + number * FRAME_MS, ...now() }, Uint8Array.of(number))
  const klv = (number: number) =>
    framed.addKlv({ mediaMs: begunMs + number * FRAME_MS, ...now(), bytes: 1, payload: () => Buffer.from('k') })
  return { framed, frame, klv, written }
}

it('puts a packet before its frame, which waits for it', () => {
  const { frame, klv, written } = setUp()
  for (let number = 0; number < 20; number += 1) {
    frame(number)
    vi.advanceTimersByTime(10)
    klv(number)
    vi.advanceTimersByTime(FRAME_MS - 10)
  }
  expect(written.slice(20, 26)).toEqual(['klv 10', 'frame 10 +10', 'klv 11', 'frame 11 +10', 'klv 12', 'frame 12 +10'])
})

it('lets frames without a packet wait a little longer than packets come late', () => {
  const { frame, klv, written } = setUp()
  for (let number = 0; number < 20; number += 1) {
    frame(number)
    vi.advanceTimersByTime(5)
    if (number % 5 === 0) klv(number)
    vi.advanceTimersByTime(FRAME_MS - 5)
  }
  expect(written.slice(-5)).toEqual(['frame 15 +5', 'frame 16 +15', 'frame 17 +15', 'frame 18 +15', 'frame 19 +15'])
})

it.each([
  ['whose packet comes before it', true],
  ['where there is no KLV', false],
])('delays no frame %s', (_what, hasKlv) => {
  const { frame, klv, written } = setUp(hasKlv)
  for (let number = 0; number < 6; number += 1) {
    if (hasKlv) klv(number)
    frame(number)
    vi.advanceTimersByTime(FRAME_MS)
  }
  const before = (number: number) => (hasKlv ? [`klv ${number}`] : [])
  // The first one waits until it is known when packets come.
  expect(written.slice(hasKlv ? 2 : 1)).toEqual([1, 2, 3, 4, 5].flatMap((number) => [...before(number), `frame ${number} +0`]))
})

it('waits a tenth of a second at most; a packet that is later comes with the time of its frame', () => {
  const { frame, klv, written } = setUp()
  for (let number = 0; number < 20; number += 1) {
    frame(number)
    if (number >= 5) klv(number - 5)
    vi.advanceTimersByTime(FRAME_MS)
  }
  expect(written.slice(-4)).toEqual(['klv 13', 'frame 16 +100', 'klv 14', 'frame 17 +100'])
})

it('sends what it holds when the source is lost', () => {
  const { framed, frame, written } = setUp()
  frame(0)
  framed.flush()
  expect(written).toEqual(['frame 0 +0'])
})
