import { afterEach, describe, expect, it } from 'vitest'
import type { PublisherLimits } from '../../../engine/mount/limits.ts'
import type { MountOptions } from '../../../engine/mount/mount-point.ts'
import { RtpStream } from '../../../engine/rtp/stream.ts'
import { createPublisher } from '../../../engine/rtsp/publisher/publisher.ts'
import type { ErrorCode } from '../../../lib/errors.ts'
import { ApiError } from '../../../lib/errors.ts'
import { freePort } from '../../helpers/ports.ts'
import { h264Media, silentLog, startMedia } from '../../helpers/rtsp/media.ts'
import { connectReader, openReader } from '../../helpers/rtsp/reader.ts'

const ends: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
})

const publish = async (streams: readonly RtpStream[], options: Partial<MountOptions> = {}, limits: Partial<PublisherLimits> = {}) => {
  const publisher = createPublisher({ log: silentLog, limits })
  ends.push(() => publisher.close())
  const port = await freePort()
  const mount = await publisher.mount(
    { host: '127.0.0.1', port, path: 'cam' },
    { streams, maxReaders: () => 100, describeTimeoutMs: () => 5000, ...options },
  )
  return { mount, url: `rtsp://127.0.0.1:${port}/cam` }
}

const sourceWithMedia = async () => {
  const media = startMedia([h264Media()])
  ends.push(() => media.stop())
  return media
}

describe('readers while the source is away', () => {
  it('keep their session over UDP without reports, and lose it when media flows and they stay silent', async () => {
    const media = await sourceWithMedia()
    const { mount, url } = await publish(media.streams, {}, { sessionTimeoutMs: 1500, reportMs: 100 })
    const reader = await openReader(url, { transport: 'udp' })
    ends.push(() => reader.close())
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
    const first = await openReader(url)
    ends.push(() => first.close())
    await media.stop()
    const late = await openReader(url)
    ends.push(() => late.close())
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
    const { url } = await publish([new RtpStream()], { onDescribe: () => Promise.reject(new ApiError(code, 'It did not start.')) })
    const reader = await connectReader(url)
    ends.push(() => reader.close())
    const response = await reader.describe()
    expect([response.status, response.headers.get('retry-after')]).toEqual([status, status === 503 ? '1' : undefined])
    expect((await reader.request('OPTIONS')).status).toBe(200)
  })

  it('time out when a start never ends', async () => {
    const { url } = await publish([new RtpStream()], { onDescribe: () => new Promise(() => {}), describeTimeoutMs: () => 50 })
    const reader = await connectReader(url)
    ends.push(() => reader.close())
    expect((await reader.describe()).status).toBe(504)
  })
})
