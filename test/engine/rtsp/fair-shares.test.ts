import { describe, expect, it } from 'vitest'
import type { PublisherLimits } from '../../../engine/mount/limits.ts'
import { connected, playing, publish as publishStreams, sharedMedia } from '../../helpers/rtsp/publish.ts'
import { connectReader, type openReader } from '../../helpers/rtsp/reader.ts'

const media = sharedMedia()
const publish = (limits: Partial<PublisherLimits>, maxReaders = 10, at = '0.0.0.0') =>
  publishStreams(media.streams, { limits, at, host: '127.0.0.1', mount: { maxReaders: () => maxReaders } })

/** The response to SETUP of a reader from an address. */
const setUp = async (url: string, options: Parameters<typeof openReader>[1] = {}) => {
  const reader = await connected(url, options)
  await reader.describe()
  return (await reader.setUp(0)).status
}

describe('one address', () => {
  it('gets no more than its share of the places of a pipeline; others still get in', async () => {
    const { url } = await publish({ shareOfReaders: 0.5, readersPerAddress: 2 }, 10)
    // A session is counted when it plays: this one is ready to.
    const sixth = await connected(url)
    await sixth.describe()
    expect((await sixth.setUp(0)).status).toBe(200)
    for (let reader = 1; reader <= 5; reader += 1) await playing(url)
    expect([await setUp(url), (await sixth.play()).status]).toEqual([453, 453])
    for (let reader = 1; reader <= 5; reader += 1) await playing(url, { from: '127.0.0.2' })
    expect(await setUp(url, { from: '127.0.0.3' })).toBe(453)
  })

  it('may take all places of a pipeline that has few', async () => {
    const { url } = await publish({}, 3)
    for (let reader = 1; reader <= 3; reader += 1) await playing(url)
    expect(await setUp(url)).toBe(453)
  })

  it('gets no more than its share of the sessions over UDP; TCP and others are free', async () => {
    const { url } = await publish({ udpSessions: 3, udpSessionsPerAddress: 2 })
    for (let reader = 1; reader <= 2; reader += 1) expect(await setUp(url, { transport: 'udp' })).toBe(200)
    expect([await setUp(url, { transport: 'udp' }), await setUp(url)]).toEqual([453, 200])
    expect(await setUp(url, { transport: 'udp', from: '127.0.0.2' })).toBe(200)
    expect(await setUp(url, { transport: 'udp', from: '127.0.0.3' })).toBe(453)
  })
})

describe('the address of outputs that name none', () => {
  it('is the one that is configured', async () => {
    const { publisher, url } = await publish({})
    expect(publisher.listening).toEqual([{ host: '127.0.0.1', port: Number(new URL(url.replace('rtsp', 'http')).port) }])
    await expect(connectReader(url.replace('127.0.0.1', '127.0.0.2'))).rejects.toThrow('ECONNREFUSED')
  })

  it('does not change an output that names one', async () => {
    const { publisher } = await publish({}, 10, '127.0.0.3')
    expect(publisher.listening).toMatchObject([{ host: '127.0.0.3' }])
  })

  it('is named in the error when it is not an address of this machine', async () => {
    const mounting = publishStreams(media.streams, { at: '0.0.0.0', host: '192.0.2.1' })
    await expect(mounting).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE', message: expect.stringContaining('SVC_OUTPUT_HOST') })
  })
})
