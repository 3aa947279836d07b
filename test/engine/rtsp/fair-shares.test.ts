import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import type { PublisherLimits } from '../../../engine/mount/limits.ts'
import { createPublisher, type Publisher } from '../../../engine/rtsp/publisher/publisher.ts'
import { freePort } from '../../helpers/ports.ts'
import { h264Media, type Media, silentLog, startMedia } from '../../helpers/rtsp/media.ts'
import { connectReader, openReader, type RtspReader } from '../../helpers/rtsp/reader.ts'

let media: Media
let publisher: Publisher
let readers: RtspReader[] = []

beforeAll(() => {
  media = startMedia([h264Media()])
})
afterAll(() => media.stop())
afterEach(async () => {
  await Promise.all(readers.map((reader) => reader.close()))
  readers = []
  await publisher.close()
})

const publish = async (limits: Partial<PublisherLimits>, maxReaders = 10, host = '0.0.0.0') => {
  publisher = createPublisher({ log: silentLog, limits, host: '127.0.0.1' })
  const port = await freePort()
  await publisher.mount(
    { host, port, path: 'cam' },
    { streams: media.streams, maxReaders: () => maxReaders, describeTimeoutMs: () => 9000 },
  )
  return `rtsp://127.0.0.1:${port}/cam`
}

const play = async (url: string, options: Parameters<typeof openReader>[1] = {}) => {
  const reader = await openReader(url, options)
  readers.push(reader)
}

/** The response to SETUP of a reader from an address. */
const setUp = async (url: string, options: Parameters<typeof openReader>[1] = {}) => {
  const reader = await connectReader(url, options)
  readers.push(reader)
  await reader.describe()
  return (await reader.setUp(0)).status
}

describe('one address', () => {
  it('gets no more than its share of the places of a pipeline; others still get in', async () => {
    const url = await publish({ shareOfReaders: 0.5, readersPerAddress: 2 }, 10)
    // A session is counted when it plays: this one is ready to.
    const sixth = await connectReader(url)
    readers.push(sixth)
    await sixth.describe()
    expect((await sixth.setUp(0)).status).toBe(200)
    for (let reader = 1; reader <= 5; reader += 1) await play(url)
    expect([await setUp(url), (await sixth.play()).status]).toEqual([453, 453])
    for (let reader = 1; reader <= 5; reader += 1) await play(url, { from: '127.0.0.2' })
    expect(await setUp(url, { from: '127.0.0.3' })).toBe(453)
  })

  it('may take all places of a pipeline that has few', async () => {
    const url = await publish({}, 3)
    for (let reader = 1; reader <= 3; reader += 1) await play(url)
    expect(await setUp(url)).toBe(453)
  })

  it('gets no more than its share of the sessions over UDP; TCP and others are free', async () => {
    const url = await publish({ udpSessions: 3, udpSessionsPerAddress: 2 })
    for (let reader = 1; reader <= 2; reader += 1) expect(await setUp(url, { transport: 'udp' })).toBe(200)
    expect([await setUp(url, { transport: 'udp' }), await setUp(url)]).toEqual([453, 200])
    expect(await setUp(url, { transport: 'udp', from: '127.0.0.2' })).toBe(200)
    expect(await setUp(url, { transport: 'udp', from: '127.0.0.3' })).toBe(453)
  })
})

describe('the address of outputs that name none', () => {
  it('is the one that is configured', async () => {
    const url = await publish({})
    expect(publisher.listening).toEqual([{ host: '127.0.0.1', port: Number(new URL(url.replace('rtsp', 'http')).port) }])
    await expect(connectReader(url.replace('127.0.0.1', '127.0.0.2'))).rejects.toThrow('ECONNREFUSED')
  })

  it('does not change an output that names one', async () => {
    await publish({}, 10, '127.0.0.3')
    expect(publisher.listening).toMatchObject([{ host: '127.0.0.3' }])
  })

  it('is named in the error when it is not an address of this machine', async () => {
    publisher = createPublisher({ log: silentLog, host: '192.0.2.1' })
    const options = { streams: media.streams, maxReaders: () => 1, describeTimeoutMs: () => 1 }
    const mounting = publisher.mount({ host: '0.0.0.0', port: await freePort(), path: 'cam' }, options)
    await expect(mounting).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE', message: expect.stringContaining('SVC_OUTPUT_HOST') })
  })
})
