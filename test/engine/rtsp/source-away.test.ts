import { describe, expect, it, onTestFinished } from 'vitest'
import { RtpStream } from '../../../engine/rtp/stream.ts'
import type { ErrorCode } from '../../../lib/errors.ts'
import { ApiError } from '../../../lib/errors.ts'
import { h264Media, startMedia } from '../../helpers/rtsp/media.ts'
import { connected, playing, publish } from '../../helpers/rtsp/publish.ts'

const sourceWithMedia = async () => {
  const media = startMedia([h264Media()])
  onTestFinished(() => media.stop())
  return media
}

describe('readers while the source is away', () => {
  it('keep their session over UDP without reports, and lose it when media flows and they stay silent', async () => {
    const media = await sourceWithMedia()
    const { mount, url } = await publish(media.streams, { limits: { sessionTimeoutMs: 1500, reportMs: 100 } })
    const reader = await playing(url, { transport: 'udp' })
    await reader.until(() => reader.count > 10)
    await media.stop()
    // Sender reports continue: 35 of them take more than twice the session timeout.
    const reports = reader.reports.length
    await reader.until(() => reader.reports.length > reports + 35)
    expect([reader.open, mount.readers]).toEqual([true, 1])
    await media.restart()
    await reader.closed
  })

  it('get the known session description at once', async () => {
    const media = await sourceWithMedia()
    const { url } = await publish(media.streams)
    const first = await playing(url)
    await media.stop()
    const late = await playing(url)
    expect(late.description).toBe(first.description)
  })
})

describe('readers of a stream that starts on demand', () => {
  it.each<[ErrorCode, number]>([
    ['LICENSE_LIMIT_EXCEEDED', 402],
    ['NOT_FOUND', 404],
    ['ENGINE_ERROR', 503],
    ['PIPELINE_START_TIMEOUT', 504],
  ])('see a start that failed with %s as status %i', async (code, status) => {
    const { url } = await publish([new RtpStream()], {
      mount: { onDescribe: () => Promise.reject(new ApiError(code, 'It did not start.')) },
    })
    const reader = await connected(url)
    const response = await reader.describe()
    expect([response.status, response.headers.get('retry-after')]).toEqual([status, status === 503 ? '1' : undefined])
    expect((await reader.request('OPTIONS')).status).toBe(200)
  })

  it('time out when a start never ends', async () => {
    const { url } = await publish([new RtpStream()], { mount: { onDescribe: () => new Promise(() => {}), describeTimeoutMs: () => 50 } })
    const reader = await connected(url)
    expect((await reader.describe()).status).toBe(504)
  })
})
