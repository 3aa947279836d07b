import { describe, expect, it } from 'vitest'
import { ApiError } from '../../lib/errors.ts'
import { API_KEY, createTestApi, simple, type TestApi } from '../helpers/api/api.ts'
import { fetchHost, nodeHost, type TestHost, workerHost } from '../helpers/api/hosts.ts'
import { FIRST_BYTES } from '../helpers/fakes/live.ts'
import { until } from '../helpers/until.ts'
import { type ApiRow, testRows } from './api-rows.ts'

const VIDEO = '/svc/pipeline/cam-1/video'
const KEY = { 'x-api-key': API_KEY }

const playing = (api: TestApi) => api.given(simple('cam-1'))
const ready = (api: TestApi) => api.given(simple('cam-1', { on_demand: true }))

const refused = (name: string, refusal: ApiError): ApiRow => ({
  name,
  given: async (api) => {
    await playing(api)
    api.live.refusal = refusal
  },
  request: ['GET', VIDEO],
  status: refusal.status,
  contains: [`"reason":"${refusal.details.reason}"`],
})

const FIRST_TEXT = '"codedWidth":640'

testRows([
  {
    name: 'streams the video of a pipeline',
    given: playing,
    request: ['GET', VIDEO],
    status: 200,
    contains: [FIRST_TEXT],
    headers: { 'content-type': 'application/vnd.video-pipeline.units', 'cache-control': 'no-store', 'content-length': null },
    after: (api) =>
      until(
        () => api.live.open,
        (open) => open === 0,
      ),
  },
  {
    name: 'streams a pipeline as MPEG-TS',
    given: playing,
    request: ['GET', '/svc/pipeline/cam-1/stream.ts'],
    status: 200,
    headers: { 'content-type': 'video/mp2t', 'cache-control': 'no-store', 'content-length': null },
  },
  {
    name: 'answers 409 for MPEG-TS of a pipeline that does not play',
    given: ready,
    request: ['GET', '/svc/pipeline/cam-1/stream.ts'],
    status: 409,
    contains: ['"reason":"not_playing"'],
  },
  {
    name: 'answers HEAD without the video, and leaves',
    given: async (api) => {
      await playing(api)
      api.live.endless = true
    },
    request: ['HEAD', VIDEO],
    status: 200,
    lacks: [FIRST_TEXT],
    headers: { 'content-type': 'application/vnd.video-pipeline.units' },
  },
  { name: 'answers 404 for a pipeline that is not stored', request: ['GET', VIDEO], status: 404, contains: ['NOT_FOUND'] },
  {
    name: 'answers 409 for a pipeline that does not play',
    given: ready,
    request: ['GET', VIDEO],
    status: 409,
    contains: ['"reason":"not_playing"'],
  },
  {
    name: 'answers 409 for a pipeline that the engine does not know',
    given: async (api) => {
      await ready(api)
      api.engine.restart()
    },
    request: ['GET', VIDEO],
    status: 409,
    contains: ['"reason":"not_playing"'],
  },
  refused('passes on that there is no pay0', new ApiError('CONFLICT', 'There is no pay0.', { reason: 'no_pay0' })),
  refused('passes on that it is another codec', new ApiError('CONFLICT', 'It is VP8.', { reason: 'codec' })),
  refused('passes on that there are too many readers', new ApiError('SERVICE_UNAVAILABLE', 'Too many.', { reason: 'reader_limit' })),
  { name: 'refuses a query', given: playing, request: ['GET', `${VIDEO}?from=1`], status: 400, contains: ['from'] },
])

it('asks the engine for no stream when the client has left before', async () => {
  await using api = await createTestApi()
  await playing(api)
  const answer = await api.app(new Request(`${api.origin}${VIDEO}`, { signal: AbortSignal.abort() }))
  expect([answer.ok, api.live.open]).toEqual([false, 0])
})

const HOSTS: readonly TestHost[] = [fetchHost, nodeHost, workerHost]

for (const host of HOSTS) {
  // A binding of the tests' workerd reads its answer to the end, whatever the worker does: there the engine cannot be looked at.
  const seesEngine = host !== workerHost
  const left = async (api: TestApi): Promise<void> => {
    if (seesEngine) {
      await until(
        () => api.live.open,
        (open) => open === 0,
      )
    }
  }

  describe(`live video on ${host.name}`, () => {
    const open = async (api: TestApi, headers: Record<string, string> = {}) => {
      api.live.endless = true
      const response = await api.send('GET', VIDEO, undefined, headers)
      expect(response.status).toBe(200)
      const reader = (response.body as ReadableStream<Uint8Array>).getReader()
      const { value } = await reader.read()
      expect(Buffer.from(value?.subarray(0, FIRST_BYTES.length) ?? [])).toEqual(Buffer.from(FIRST_BYTES))
      return reader
    }

    it('leaves the engine when the client leaves', async () => {
      await using api = await createTestApi(host)
      await playing(api)
      const reader = await open(api)
      expect(api.live.open).toBe(1)
      await reader.cancel()
      await left(api)
      expect((await api.send('HEAD', VIDEO)).status).toBe(200)
      await left(api)
    })

    it.skipIf(!seesEngine)('takes from the engine only what the client takes', async () => {
      await using api = await createTestApi(host)
      await playing(api)
      const reader = await open(api)
      const settled = async (): Promise<number> => {
        let before = -1
        return until(
          async () => {
            await new Promise((resolve) => setTimeout(resolve, 200))
            const stands = before === api.live.taken
            before = api.live.taken
            return stands ? before : -1
          },
          (taken) => taken >= 0,
        )
      }
      const taken = await settled()
      // What the buffers of sockets and streams hold, of chunks of 64 KiB.
      expect(taken).toBeLessThan(400)
      // Without the client nothing more is taken, and with it the stream goes on.
      expect(await settled()).toBe(taken)
      while (api.live.taken <= taken) await reader.read()
      await reader.cancel()
    })

    it('ends with the session that opened it', async () => {
      await using api = await createTestApi(host)
      await playing(api)
      const reader = await open(api)
      const drain = async (): Promise<void> => {
        // Without a pause the bare handler would never let a timer run.
        while (!(await reader.read()).done) await new Promise((resolve) => setImmediate(resolve))
      }
      const ended = drain()
      const { status } = await api.send('PUT', '/svc/auth/password', { password: 'correct horse battery staple' }, KEY)
      expect(status).toBe(200)
      await ended
      await left(api)
    })

    it('does not begin for a session that ended while it was opened', async () => {
      await using api = await createTestApi(host)
      await playing(api)
      const start = Promise.withResolvers<void>()
      api.live.start = start.promise
      const answer = api.send('GET', VIDEO)
      const { status } = await api.send('PUT', '/svc/auth/password', { password: 'correct horse battery staple' }, KEY)
      expect(status).toBe(200)
      expect((await answer).status).toBe(401)
      start.resolve()
      await left(api)
    })
  })
}
