import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { ApiError } from '../../../lib/errors.ts'
import { API_KEY, createTestApi, openApi, simple, type TestApi } from '../../helpers/api/api.ts'
import { fetchHost, nodeHost, type TestHost, workerHost } from '../../helpers/api/hosts.ts'
import { ALL_HOSTS, engineReplaced, PASSWORD, row, testRows, testRowsOnAllHosts } from '../../helpers/api/rows.ts'
import { FIRST_BYTES } from '../../helpers/fakes/live.ts'

const VIDEO = '/svc/pipeline/cam-1/video'
const TS = '/svc/pipeline/cam-1/stream.ts'
const FIRST_TEXT = '"codedWidth":640'

const playing = (api: TestApi) => api.given(simple('cam-1'))
const ready = (api: TestApi) => api.given(simple('cam-1', { on_demand: true }))
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
  testRows([
    row('answers 409 for MPEG-TS of a pipeline that does not play', `GET ${TS}`, 409, '"reason":"not_playing"', { given: ready }),
    row('answers 409 for one that the engine does not know', `GET ${VIDEO}`, 409, '"not_playing"', { given: engineReplaced(ready) }),
    passesOn(new ApiError('CONFLICT', 'There is no pay0.', { reason: 'no_pay0' })),
    passesOn(new ApiError('SERVICE_UNAVAILABLE', 'Too many readers.', { reason: 'reader_limit' })),
    row('refuses a query', `GET ${VIDEO}?from=1`, 400, 'from', { given: playing }),
  ])

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
