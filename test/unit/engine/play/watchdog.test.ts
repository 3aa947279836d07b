import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { LogRing } from '../../../../engine/play/log-ring.ts'
import { MediaStats } from '../../../../engine/play/media-stats.ts'
import { type MissingMedia, missingMediaFault, type RunContext, type RunEvent, startWatchdog } from '../../../../engine/play/watchdog.ts'
import { RtpStream } from '../../../../engine/rtp/stream.ts'
import { beginStream, IDR, SLICE } from '../../../helpers/rtsp/packets.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => {
  vi.useRealTimers()
})

const START_MS = 10_000
const STALL_MS = 4000

const watch = (publishes = true) => {
  const { stream: video, send } = beginStream()
  const reported: RunEvent['type'][] = []
  const stops: MissingMedia[] = []
  const run: RunContext = {
    number: 1,
    streams: [video, new RtpStream(), new RtpStream()],
    mediaStats: new MediaStats(),
    logRing: new LogRing(() => 0),
    signal: new AbortController().signal,
    startTimeoutMs: START_MS,
    stallTimeoutMs: () => STALL_MS,
    report: ({ type }) => reported.push(type),
  }
  const watchdog = startWatchdog(run, publishes, (why) => stops.push(why))
  return { run, watchdog, reported, stops, send: (payload: Buffer) => send([payload]) }
}

describe('the watchdog of a run', () => {
  it('takes the first key frame for the first media, once, and no picture before it', () => {
    const { watchdog, reported, run, send } = watch()
    send(SLICE)
    expect([reported, watchdog.hadMedia]).toEqual([[], false])
    for (const payload of [IDR, SLICE, IDR]) send(payload)
    expect([reported, watchdog.hadMedia, run.mediaStats.read().frames]).toEqual([['media'], true, 4])
  })

  it('ends a run without video, and one without a key frame, when the start timeout has passed', () => {
    const [silent, keyless] = [watch(), watch()]
    vi.advanceTimersByTime(START_MS - 1)
    keyless.send(SLICE)
    expect([silent.stops, keyless.stops]).toEqual([[], []])
    vi.advanceTimersByTime(1)
    expect([silent.stops, keyless.stops]).toEqual([['no_media'], ['no_key_frame']])
  })

  it('ends a run whose media pauses for the stall timeout, and no earlier', () => {
    const { stops, send } = watch()
    send(IDR)
    vi.advanceTimersByTime(STALL_MS - 500)
    send(SLICE)
    vi.advanceTimersByTime(STALL_MS - 1)
    expect(stops).toEqual([])
    vi.advanceTimersByTime(2)
    expect(stops).toEqual(['stalled'])
  })

  it('takes a run without output for started when it has been in PLAYING for half a second, and never for stalled', () => {
    const { watchdog, reported, stops } = watch(false)
    watchdog.playing()
    expect(watchdog.unsteady).toBe(true)
    vi.advanceTimersByTime(499)
    expect([reported, watchdog.hadMedia]).toEqual([[], false])
    vi.advanceTimersByTime(1)
    expect([reported, watchdog.hadMedia, watchdog.unsteady]).toEqual([['media'], true, false])
    vi.advanceTimersByTime(START_MS + 10 * STALL_MS)
    expect(stops).toEqual([])
  })

  it('leaves no timer behind, and counts no more', () => {
    const { watchdog, run, send } = watch()
    send(IDR)
    watchdog.close()
    send(IDR)
    expect([vi.getTimerCount(), run.mediaStats.read().frames]).toEqual([0, 1])
  })

  it('says what was missing', () => {
    const { run } = watch()
    const said = (['no_media', 'no_key_frame', 'stalled'] as const).map((why) => missingMediaFault(why, run))
    expect(said.map(({ reason, message }) => [reason, message.split('. ')[0]])).toEqual([
      ['timeout', 'No video came within 10 s'],
      ['timeout', 'Video came, but no key frame within 10 s'],
      ['stalled', 'The source stopped sending video for 4 s.'],
    ])
  })
})
