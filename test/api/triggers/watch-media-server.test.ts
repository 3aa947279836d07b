import { describe, expect, it, onTestFinished } from 'vitest'
import { createMediaServerApi } from '../../../lib/triggers/media-server-api.ts'
import { watchMediaServer } from '../../../lib/triggers/watch.ts'
import { API_KEY, createTestApi, openApi, simple, type TestApi } from '../../helpers/api/api.ts'
import { fetchHost } from '../../helpers/api/hosts.ts'
import { type MediamtxApi, startMediamtxApi } from '../../helpers/media/mediamtx-api.ts'

const ALL_BUT_OUT = /^(?!out\/)/u

const mediamtx = async (...args: Parameters<typeof startMediamtxApi>): Promise<MediamtxApi> => {
  const server = await startMediamtxApi(...args)
  onTestFinished(() => server.stop())
  return server
}

/** A watch of the media server on the triggers of an API. */
const watch = (api: TestApi, url: string, paths = ALL_BUT_OUT) => {
  const stopping = new AbortController()
  const started = watchMediaServer({
    api: createMediaServerApi(url),
    triggers: api.deps.triggers,
    paths,
    log: api.deps.log,
    signal: stopping.signal,
    pace: { pollMs: 50, retryMs: 300 },
  })
  const stop = async (): Promise<void> => {
    stopping.abort()
    await started.ended
  }
  onTestFinished(stop)
  return { ...started, stop }
}

const states = async (api: TestApi): Promise<Readonly<Record<string, string>>> => {
  const pipelines = (await api.read('/svc/pipeline')) as { id: string; state: string }[]
  return Object.fromEntries(pipelines.map(({ id, state }) => [id, state]))
}
const reach = (api: TestApi, ...playing: readonly string[]): Promise<void> =>
  expect.poll(() => states(api)).toEqual(Object.fromEntries(playing.map((id) => [id, 'playing'])))
const polls = (server: MediamtxApi, count: number): Promise<void> =>
  expect.poll(() => server.requests.length).toBeGreaterThanOrEqual(server.requests.length + count)
/** An API and a media server with these paths. */
const begin = async (...paths: readonly (string | { name: string; available: boolean; online?: boolean })[]) => {
  const [api, server] = [await openApi(), await mediamtx()]
  server.list(...paths)
  return { api, server }
}
const hook = (api: TestApi, method: 'PUT' | 'DELETE', query: string) =>
  api.send(method, `/svc/triggers/mediaServer/publish?${query}`, undefined, { 'x-api-key': API_KEY })
const logged = (api: TestApi, event: string) => api.logged.filter((line) => line.event === event)

describe('a watched media server', () => {
  it.each(['before 1.17', 'since 1.17'] as const)('has a pipeline for each path as long as it has media: MediaMTX %s', async (version) => {
    await using api = await createTestApi()
    const server = await mediamtx({ version })
    server.list('live/cam.1', { name: 'waiting', available: false }, 'out/cam')
    watch(api, server.url)
    await reach(api, 'livecam1')
    const source = { uri: 'rtsp://127.0.0.1:8554/live/cam.1' }
    expect(await api.read('/svc/pipeline/livecam1')).toMatchObject({ ephemeral: true, source })
    server.list('live/cam.1', 'waiting')
    await reach(api, 'livecam1', 'waiting')
    server.list({ name: 'live/cam.1', available: false }, 'waiting')
    await reach(api, 'waiting')
    server.list()
    await reach(api)
    expect(api.engine.ids()).toEqual([])
    expect(logged(api, 'media_server_watched')).toHaveLength(1)
  })

  it('has none for a path that is only always available, until a source is there, nor for one that the expression does not allow', async () => {
    const { api, server } = await begin({ name: 'cam', available: true, online: false }, 'other')
    watch(api, server.url, /^cam/u)
    await polls(server, 2)
    expect(await states(api)).toEqual({})
    server.list({ name: 'cam', available: true, online: true }, 'other')
    await reach(api, 'cam')
  })

  it('keeps the pipelines of streams that may stand beyond what is read of a long list, which is logged once', async () => {
    const { api, server } = await begin('first', 'last')
    watch(api, server.url)
    await reach(api, 'first', 'last')
    const waiting = Array.from({ length: 10_000 }, (_, at) => ({ name: `waiting-${at}`, available: false }))
    server.list('new', 'first', ...waiting, 'last')
    await reach(api, 'first', 'last', 'new')
    // Three times ten pages.
    await polls(server, 30)
    expect(await states(api)).toEqual({ first: 'playing', last: 'playing', new: 'playing' })
    expect(logged(api, 'media_server_list_cut')).toHaveLength(1)
    server.list('first')
    await reach(api, 'first')
  })

  it('keeps its pipelines while its API does not answer, which is logged once', async () => {
    const { api, server } = await begin('cam', 'other')
    watch(api, server.url)
    await reach(api, 'cam', 'other')
    for (const body of ['', '<html>', '{"items":[{"name":7}]}', '{"pageCount":1,"items":null}', '[]']) {
      server.answerWith((response) => void response.writeHead(body === '' ? 500 : 200).end(body))
      await polls(server, 1)
    }
    await server.stop()
    await expect.poll(() => logged(api, 'media_server_not_watched').length).toBe(1)
    expect(await states(api)).toEqual({ cam: 'playing', other: 'playing' })
    const back = await mediamtx({ port: server.port })
    back.list('cam')
    await reach(api, 'cam')
    expect([logged(api, 'media_server_not_watched').length, logged(api, 'media_server_watched').length]).toEqual([1, 2])
    expect(api.engine.calls.filter((call) => call.startsWith('play'))).toEqual(['play cam', 'play other'])
  })

  it('gets its credentials as Basic authentication, and no log shows them', async () => {
    const api = await openApi()
    const server = await mediamtx({ credentials: 'ad min:p@ss/wörd%' })
    server.list('cam')
    watch(api, server.url.replace('http://', 'http://ad%20min:p%40ss%2Fwrong@'))
    await expect.poll(() => logged(api, 'media_server_not_watched').length).toBe(1)
    expect(JSON.stringify(api.logged)).toContain('SVC_MEDIA_SERVER_API')
    server.requireCredentials('ad min:p@ss/wrong')
    await reach(api, 'cam')
    expect(server.requests.every(({ url }) => !url.includes('wrong'))).toBe(true)
    expect(JSON.stringify(api.logged)).not.toMatch(/wrong|ad.{0,3}min/)
  })

  it('does not follow a redirect with its credentials', async () => {
    const api = await openApi()
    const [server, other] = [await mediamtx(), await mediamtx()]
    server.answerWith((response) => void response.writeHead(302, { location: `${other.url}/v3/paths/list` }).end())
    watch(api, server.url.replace('http://', 'http://user:secret@'))
    await expect.poll(() => logged(api, 'media_server_not_watched').length).toBe(1)
    expect(other.requests).toEqual([])
  })
})

it('a watched media server and its hooks have one pipeline for a stream between them, with the id that a hook has given', async () => {
  const { api, server } = await begin()
  watch(api, server.url)
  await polls(server, 1)
  expect((await hook(api, 'PUT', 'path=live/cam&pipelineId=gate')).status).toBe(200)
  server.list('live/cam', 'cam')
  await Promise.all([hook(api, 'PUT', 'path=cam'), polls(server, 3)])
  expect(await states(api)).toEqual({ gate: 'playing', cam: 'playing' })
  server.list()
  await Promise.all([hook(api, 'DELETE', 'path=cam'), polls(server, 2)])
  await reach(api)
  expect(api.engine.calls.filter((call) => /^(play|put)/.test(call)).sort()).toEqual(['play cam', 'play gate', 'put cam', 'put gate'])
})

describe('a stream of a watched media server', () => {
  it('whose pipeline a client stopped stays stopped until it is published anew', async () => {
    const { api, server } = await begin('cam')
    watch(api, server.url)
    await reach(api, 'cam')
    await api.send('PUT', '/svc/pipeline/cam/stop')
    await polls(server, 3)
    expect(await states(api)).toEqual({ cam: 'ready' })
    server.list({ name: 'cam', available: true, since: '2026-11-21T11:00:00Z' })
    await reach(api, 'cam')
  })

  it('whose pipeline was removed gets another after a while', async () => {
    const { api, server } = await begin('cam')
    const { onEvent } = watch(api, server.url)
    await reach(api, 'cam')
    await api.send('PUT', '/svc/pipeline/cam/stop')
    expect((await api.send('DELETE', '/svc/pipeline/cam')).status).toBe(204)
    onEvent({ type: 'pipeline_removed', id: 'cam' })
    expect(await states(api)).toEqual({})
    await reach(api, 'cam')
  })

  it('that could not be published is published again after a while, which is logged once', async () => {
    const api = await openApi((api) => api.given(simple('cam')))
    const server = await mediamtx()
    server.list('cam', 'x'.repeat(65))
    watch(api, server.url)
    await expect.poll(() => logged(api, 'stream_not_published').length).toBe(2)
    await api.send('PUT', '/svc/pipeline/cam/stop')
    await api.send('DELETE', '/svc/pipeline/cam')
    await reach(api, 'cam')
    expect(await api.read('/svc/pipeline/cam')).toMatchObject({ ephemeral: true })
    expect(logged(api, 'stream_not_published')).toHaveLength(2)
  })

  it('that ends while its pipeline starts leaves nothing', async () => {
    const api = await openApi()
    const gate = Promise.withResolvers<void>()
    api.engine.startGates.set('cam', gate.promise)
    const server = await mediamtx()
    server.list('cam')
    watch(api, server.url)
    await expect.poll(() => api.engine.calls).toContain('play cam')
    server.list()
    await polls(server, 2)
    gate.resolve()
    await expect.poll(() => api.engine.ids()).toEqual([])
    expect(await states(api)).toEqual({})
  })
})

it('several API processes that watch make one pipeline for a stream and remove it once', async () => {
  const one = await openApi()
  await using other = await createTestApi(fetchHost, { engine: one.engine, pipelines: one.deps.pipelines, settings: one.deps.settings })
  const server = await mediamtx()
  watch(one, server.url)
  watch(other, server.url)
  server.list('a', 'b', 'c')
  await reach(one, 'a', 'b', 'c')
  await polls(server, 4)
  expect(await states(other)).toEqual({ a: 'playing', b: 'playing', c: 'playing' })
  server.list('b')
  await reach(one, 'b')
  await polls(server, 4)
  expect(await states(one)).toEqual({ b: 'playing' })
  expect([...logged(one, 'stream_not_unpublished'), ...logged(other, 'stream_not_unpublished')]).toEqual([])
})

describe('the end of a watch', () => {
  it('stops the polls and leaves the pipelines', async () => {
    const { api, server } = await begin('cam')
    const { stop } = watch(api, server.url)
    await reach(api, 'cam')
    await stop()
    const { length } = server.requests
    server.list()
    // Another watch, which began later, has polled several times: one that was not stopped would have done so too.
    const other = await openApi()
    const later = await mediamtx()
    watch(other, later.url)
    await polls(later, 4)
    expect([server.requests.length, await states(api)]).toEqual([length, { cam: 'playing' }])
  })

  it('does not wait for a server that does not answer', async () => {
    const { api, server } = await begin()
    server.answerWith(() => {})
    const { stop } = watch(api, server.url)
    await polls(server, 1)
    const began = performance.now()
    await stop()
    expect(performance.now() - began).toBeLessThan(1000)
  })
})
