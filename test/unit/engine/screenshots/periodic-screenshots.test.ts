import { describe, expect, it, onTestFinished, vi } from 'vitest'
import type { RtpStream } from '../../../../engine/rtp/stream.ts'
import type { DecodeRequest, Screenshot } from '../../../../engine/screenshots/decode/screenshot-decoder.ts'
import { PeriodicScreenshots } from '../../../../engine/screenshots/periodic-screenshots.ts'
import { ApiError } from '../../../../lib/errors.ts'
import { beginStream, capsOf, H264_CAPS, IDR, SLICE } from '../../../helpers/rtsp/packets.ts'

/** A stream that has had these frames; true: a key frame. */
const streamOf = (...frames: readonly boolean[]) => {
  const { stream, send } = beginStream()
  const sendFrame = (key: boolean): void => send([key ? IDR : SLICE])
  for (const key of frames) sendFrame(key)
  return { stream, sendFrame }
}

/** A decoder that records its requests. */
const decoderOf = (stream: RtpStream) => {
  const requests: DecodeRequest[] = []
  const decode = async (request: DecodeRequest): Promise<Screenshot> => {
    requests.push(request)
    const gop = request.keyFrameOf ?? stream.gop
    if (gop === undefined) throw new ApiError('CONFLICT', 'nothing', { reason: 'no_frame' })
    const frameMs = request.keyFrameOf ? gop.keyArrivedMs : gop.newestArrivedMs
    return { jpeg: Buffer.from([0xff, 0xd8, 0xff, 0xd9]), width: 2, height: 2, frameMs, mediaMs: 0 }
  }
  return { requests, decode, release: () => {} }
}

const start = (stream: RtpStream, intervalSeconds: number) => {
  const decoder = decoderOf(stream)
  const stored: Screenshot[] = []
  const store = async (screenshot: Screenshot): Promise<void> => void stored.push(screenshot)
  const periodic = new PeriodicScreenshots({ stream, decoder, store, onFault: () => {} })
  onTestFinished(() => periodic.stop())
  periodic.start({ interval_seconds: intervalSeconds, quality: 85 })
  return { periodic, stored, requests: decoder.requests }
}
/** Lets time pass without waiting for it. */
const fakeTime = (): ((ms: number) => Promise<unknown>) => {
  vi.useFakeTimers()
  onTestFinished(() => void vi.useRealTimers())
  return (ms) => vi.advanceTimersByTimeAsync(ms)
}

describe('periodic screenshots', () => {
  it('show the next key frame when it arrives in time', async () => {
    const { stream, sendFrame } = streamOf(true, false, false)
    const { requests, stored } = start(stream, 3600)
    expect(requests).toEqual([])
    sendFrame(true)
    await expect.poll(() => stored.length).toBe(1)
    expect(requests[0]?.keyFrameOf?.units.map(({ key }) => key)).toEqual([true])
    expect(stored[0]?.frameMs).toBe(stream.gop?.keyArrivedMs)
  })

  it('show the newest frame when no key frame arrives within a fifth of the interval', async () => {
    const { stream } = streamOf(true, false, false)
    const { requests, stored } = start(stream, 1)
    await expect.poll(() => stored.length).toBe(1)
    expect(requests[0]?.keyFrameOf).toBeUndefined()
    expect(stored[0]?.frameMs).toBe(stream.gop?.newestArrivedMs)
  })

  it('pause while the source is away, never repeat a frame, and resume with its first key frame', async () => {
    const pass = fakeTime()
    const { stream, sendFrame } = streamOf(true)
    const { requests, stored } = start(stream, 1)
    await pass(2000)
    expect(stored).toHaveLength(1)
    sendFrame(false)
    await pass(2000)
    expect(stored).toHaveLength(2)
    stream.end()
    const before = requests.length
    await pass(20_000)
    expect([requests.length, stored.length]).toEqual([before, 2])
    stream.begin()
    stream.setCaps(capsOf(H264_CAPS))
    sendFrame(true)
    await pass(2000)
    expect(stored).toHaveLength(3)
    expect(requests.at(-1)?.keyFrameOf).toBeDefined()
  })

  it('stop at once, and apply a new interval at once', async () => {
    const pass = fakeTime()
    const { stream, sendFrame } = streamOf(true)
    const { periodic, stored } = start(stream, 3600)
    await pass(1)
    expect(stored).toHaveLength(1)
    periodic.start({ interval_seconds: 1, quality: 10 })
    expect(periodic.schedule).toEqual({ interval_seconds: 1, quality: 10 })
    sendFrame(true)
    await pass(1)
    expect(stored).toHaveLength(2)
    periodic.stop()
    sendFrame(true)
    await pass(10_000)
    expect([periodic.schedule, stored.length]).toEqual([undefined, 2])
  })
})
