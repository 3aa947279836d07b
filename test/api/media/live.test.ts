import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { ApiError } from '../../../lib/errors.ts'
import { VideoRecordParser } from '../../../lib/video-records.ts'
import { API_KEY, createTestApi, openApi, simple, type TestApi } from '../../helpers/api/api.ts'
import { fetchHost, nodeHost, type TestHost, workerHost } from '../../helpers/api/hosts.ts'
import { ALL_HOSTS, engineReplaced, PASSWORD, row, testRows, testRowsOnAllHosts } from '../../helpers/api/rows.ts'
import { FAKE_ANSWER, FAKE_SESSION, FIRST_BYTES } from '../../helpers/fakes/live.ts'

const VIDEO = '/svc/pipeline/cam-1/video'
const TS = '/svc/pipeline/cam-1/stream.ts'
const HLS = '/svc/pipeline/cam-1/live.m3u8'
const SEGMENT = '/svc/pipeline/cam-1/live'
const WHEP = '/svc/pipeline/cam-1/whep'
const SDP = { 'content-type': 'application/sdp' }
const FRAGMENT = { 'content-type': 'application/trickle-ice-sdpfrag', 'if-match': '*' }
const FIRST_TEXT = '"codedWidth":640'

const playing = (api: TestApi) => api.given(simple('cam-1'))
const ready = (api: TestApi) => api.given(simple('cam-1', { on_demand: true }))
/** The records of a merged stream: all its bytes are ASCII here. */
const partsOf = (bytes: Uint8Array) =>
  new VideoRecordParser()
    .push(bytes)
    .map(({ kind, payload }) => ({ kind, index: Number(payload[0]), text: new TextDecoder().decode(payload.slice(1)) }))

const setPassword = async (api: TestApi) =>
  expect((await api.send('PUT', '/svc/auth/password', { password: PASSWORD }, { 'x-api-key': API_KEY })).status).toBe(200)

describe('live video', () => {
  const streams = (type: string) => ({ 'content-type': type, 'cache-control': 'no-store', 'content-length': null })
  const passesOn = (refusal: ApiError) =>
    row(`passes on the refusal ${refusal.details.reason}`, `GET ${VIDEO}`, refusal.status, `"reason":"${refusal.details.reason}"`, {
      given: async (api) => {
        await playing(api)
        api.live.refusal = refusal
      },
    })
  testRowsOnAllHosts([
    row('streams the video of a pipeline', `GET ${VIDEO}`, 200, FIRST_TEXT, {
      given: playing,
      headers: streams('application/vnd.video-pipeline.units'),
      after: (api) => expect.poll(() => api.live.open).toBe(0),
    }),
    row('streams a pipeline as MPEG-TS', `GET ${TS}`, 200, { given: playing, headers: streams('video/mp2t') }),
    row('answers HEAD without the video, and leaves', `HEAD ${VIDEO}`, 200, {
      given: async (api) => {
        await playing(api)
        api.live.endless = true
      },
      lacks: [FIRST_TEXT],
    }),
    row('answers 409 for a pipeline that does not play', `GET ${VIDEO}`, 409, '"reason":"not_playing"', { given: ready }),
    row('answers 404 for a pipeline that is not stored', `GET ${VIDEO}`, 404, 'NOT_FOUND'),
  ])
  testRowsOnAllHosts([
    row('answers the playlist of live HLS', `GET ${HLS}`, 200, 'live/1.ts', {
      given: playing,
      headers: { 'content-type': 'application/vnd.apple.mpegurl', 'cache-control': 'no-store' },
      after: (api) => expect(api.live.clients.size).toBe(1),
    }),
    row('answers a part of a segment', [`GET ${SEGMENT}/1.ts`, undefined, { range: 'bytes=0-9' }], 206, {
      given: playing,
      headers: { 'content-type': 'video/mp2t', 'content-range': 'bytes 0-9/188' },
    }),
    row('answers 404 for a segment that has gone', `GET ${SEGMENT}/0.ts`, 404, '"reason":"no_segment"', { given: playing }),
    row('answers 409 for HLS of a pipeline that does not play', `GET ${HLS}`, 409, '"reason":"not_playing"', { given: ready }),
  ])
  testRows([
    row('answers 409 for MPEG-TS of a pipeline that does not play', `GET ${TS}`, 409, '"reason":"not_playing"', { given: ready }),
    row('answers 409 for one that the engine does not know', `GET ${VIDEO}`, 409, '"not_playing"', { given: engineReplaced(ready) }),
    passesOn(new ApiError('CONFLICT', 'There is no pay0.', { reason: 'no_pay0' })),
    passesOn(new ApiError('SERVICE_UNAVAILABLE', 'Too many readers.', { reason: 'reader_limit' })),
    row('refuses a query', `GET ${VIDEO}?from=1`, 400, 'from', { given: playing }),
  ])

  testRowsOnAllHosts([
    row('begins a session by WebRTC', [`POST ${WHEP}`, 'v=0', SDP], 201, FAKE_ANSWER, {
      given: playing,
      headers: { 'content-type': 'application/sdp', location: `${WHEP}/${FAKE_SESSION}`, etag: '"ice"', 'cache-control': 'no-store' },
      after: (api) =>
        expect(api.live.offers).toEqual([{ offer: 'v=0', wait: '1', player_address: expect.stringMatching(/^(?:\d+\.){3}\d+$/) }]),
    }),
    row('adds candidates to it', [`PATCH ${WHEP}/${FAKE_SESSION}`, 'a=mid:0', FRAGMENT], 204, { given: playing }),
    row('ends it', `DELETE ${WHEP}/${FAKE_SESSION}`, 200, {
      given: async (api) => {
        await playing(api)
        await api.live.openSession('cam-1', { offer: 'v=0', wait: '1' })
      },
      after: (api) => expect(api.live.open).toBe(0),
    }),
  ])
  testRows([
    row('takes an offer as SDP only', [`POST ${WHEP}`, {}], 415, 'application/sdp', { given: playing }),
    row('takes no offer beyond 64 KiB', [`POST ${WHEP}`, 'v'.repeat(65_537), SDP], 413, '"limit_bytes":65536', { given: playing }),
    row(
      'needs a condition for candidates',
      [`PATCH ${WHEP}/${FAKE_SESSION}`, 'a=mid:0', { 'content-type': FRAGMENT['content-type'] }],
      428,
      'If-Match',
      {
        given: playing,
      },
    ),
    row('answers 404 for a session that has ended', `DELETE ${WHEP}/gone`, 404, '"reason":"no_session"', { given: playing }),
    row('passes on that an offer waits for nothing', [`POST ${WHEP}?wait=0`, 'v=0', SDP], 201, {
      given: playing,
      after: (api) => expect(api.live.offers).toMatchObject([{ wait: '0' }]),
    }),
    row('answers 409 to an offer when nothing plays', [`POST ${WHEP}`, 'v=0', SDP], 409, '"not_playing"', { given: ready }),
    row('passes on what an offer would need', [`POST ${WHEP}`, 'v=0', SDP], 406, '"reason":"codec"', {
      given: async (api) => {
        await playing(api)
        api.live.refusal = new ApiError('NOT_ACCEPTABLE', 'Offer H265.', { reason: 'codec' })
      },
    }),
    row('answers GET of a session with the methods it has', `GET ${WHEP}/${FAKE_SESSION}`, 405, { headers: { allow: 'PATCH, DELETE' } }),
  ])

  testRowsOnAllHosts([
    row('streams several pipelines in parts, and says of each why it ends', 'GET /svc/video?ids=cam-1,none', 200, {
      given: playing,
      after: async (api, _response, text) => {
        expect(partsOf(new TextEncoder().encode(text)).sort((one, other) => one.index - other.index || one.kind - other.kind)).toEqual([
          { kind: 8, index: 0, text: expect.stringContaining(FIRST_TEXT) },
          { kind: 9, index: 0, text: '{"error":null}' },
          { kind: 9, index: 1, text: expect.stringContaining('"code":"NOT_FOUND"') },
        ])
        await expect.poll(() => api.live.open).toBe(0)
      },
    }),
  ])
  testRows([
    row('refuses no pipelines', 'GET /svc/video?ids=', 400, '"path":"ids"'),
    row('refuses a pipeline twice', 'GET /svc/video?ids=a,a', 400, 'different ids'),
    row('refuses 17 pipelines', `GET /svc/video?ids=${Array.from({ length: 17 }, (_, at) => `c${at}`)}`, 400, 'Use 1 to 16'),
    row('refuses other pages', ['GET /svc/video?ids=a', undefined, { origin: 'http://evil.example' }], 403, 'cross_origin'),
  ])

  it('leaves every pipeline when the client leaves', async () => {
    const api = await openApi(playing)
    await api.given(simple('cam-2'))
    api.live.endless = true
    const leave = new AbortController()
    const answer = await api.app(new Request(`${api.origin}/svc/video?ids=cam-1,cam-2`, { signal: leave.signal }))
    const reader = answer.body?.getReader()
    await reader?.read()
    await expect.poll(() => api.live.open).toBe(2)
    leave.abort()
    await expect.poll(() => api.live.open).toBe(0)
  })

  it('asks the engine for no stream when the client has left before', async () => {
    const api = await openApi(playing)
    const answer = await api.app(new Request(`${api.origin}${VIDEO}`, { signal: AbortSignal.abort() }))
    expect([answer.ok, api.live.open]).toEqual([false, 0])
  })

  it('does not begin for a session that ended while it was opened', async () => {
    const api = await openApi(playing)
    const start = Promise.withResolvers<void>()
    api.live.start = start.promise
    const answer = api.send('GET', VIDEO)
    await setPassword(api)
    expect((await answer).status).toBe(401)
    start.resolve()
    await expect.poll(() => api.live.open).toBe(0)
  })
})

const open = async (api: TestApi) => {
  await playing(api)
  api.live.endless = true
  const response = await api.send('GET', VIDEO)
  expect(response.status).toBe(200)
  const reader = (response.body as ReadableStream<Uint8Array>).getReader()
  const { value } = await reader.read()
  expect(Buffer.from(value?.subarray(0, FIRST_BYTES.length) ?? [])).toEqual(Buffer.from(FIRST_BYTES))
  return reader
}

// A binding of the tests' workerd reads its answer to the end, whatever the worker does: the stream of the engine cannot be observed there.
const expectLeft = async (api: TestApi, host: TestHost): Promise<void> => {
  if (host !== workerHost) await expect.poll(() => api.live.open).toBe(0)
}

describe.each(ALL_HOSTS)('a stream of live video on $name', (host) => {
  it('leaves the engine when the client leaves', async () => {
    await using api = await createTestApi(host)
    const reader = await open(api)
    expect(api.live.open).toBe(1)
    await reader.cancel()
    await expectLeft(api, host)
    expect((await api.send('HEAD', VIDEO)).status).toBe(200)
    await expectLeft(api, host)
  })

  it('ends with the session that opened it', async () => {
    await using api = await createTestApi(host)
    const reader = await open(api)
    const drain = async (): Promise<void> => {
      while (!(await reader.read()).done) await sleep(5)
    }
    const ended = drain()
    await setPassword(api)
    await ended
    await expectLeft(api, host)
  })
})

it.each([fetchHost, nodeHost])('a stream takes from the engine only what the client takes, on $name', async (host) => {
  await using api = await createTestApi(host)
  const reader = await open(api)
  /** How much has been taken when nothing more is. */
  const settled = async (): Promise<number> => {
    for (let before = -1; ; before = api.live.taken) {
      await sleep(100)
      if (before === api.live.taken) return before
    }
  }
  const taken = await settled()
  // What the buffers of sockets and streams hold, of chunks of 64 KiB.
  expect(taken).toBeLessThan(400)
  while (api.live.taken <= taken) await reader.read()
  await reader.cancel()
})
