import { ApiError, errorBody } from '../../../lib/errors.ts'
import type { Cameras, Engine, EngineEvent, JpegAnswer, Klv, PasswordHasher, Screenshots } from '../../../lib/ports.ts'

/** What stands behind the face. */
export interface EngineParts {
  readonly engine: Engine
  readonly screenshots: Screenshots
  readonly klv: Klv
  readonly cameras: Cameras
  readonly hasher: PasswordHasher
}

interface Call {
  readonly parts: EngineParts
  readonly id: string
  readonly query: URLSearchParams
  // biome-ignore lint/suspicious/noExplicitAny: bodies of many shapes, sent by our own clients
  readonly body: any
  readonly signal: AbortSignal
}

const numbers = (query: URLSearchParams, ...names: string[]): Record<string, number> =>
  Object.fromEntries(names.flatMap((name) => (query.has(name) ? [[name, Number(query.get(name))]] : [])))

const pictureResponse = ({ headers, body }: JpegAnswer): Response => new Response(body, { headers })

/** One JSON object per line, as the engine streams them; the greeting comes first. */
const lines = (source: AsyncIterable<unknown>, ended: () => void, greeting: readonly EngineEvent[] = []): Response => {
  const encoder = new TextEncoder()
  const items = source[Symbol.asyncIterator]()
  const encode = (value: unknown): Uint8Array => encoder.encode(`${JSON.stringify(value)}\n`)
  return new Response(
    new ReadableStream<Uint8Array>({
      start: (controller) => {
        for (const event of greeting) controller.enqueue(encode(event))
      },
      pull: async (controller) => {
        const { done, value } = await items.next()
        if (done === true) controller.close()
        else controller.enqueue(encode(value))
      },
      cancel: ended,
    }),
  )
}

const follow = <T>(source: (signal: AbortSignal) => AsyncIterable<T>, greeting: readonly EngineEvent[] = []): Response => {
  const abort = new AbortController()
  return lines(source(abort.signal), () => abort.abort(), greeting)
}

const HEARTBEAT: EngineEvent = { type: 'heartbeat' }

async function* tagged(klv: Klv, id: string, signal: AbortSignal): AsyncGenerator<EngineEvent> {
  for await (const packet of klv.follow(id, signal)) yield { type: 'klv', id, packet }
}

/** The calls of the engine's HTTP face, each answered by a method of the ports. */
const CALLS: Readonly<Record<string, (call: Call) => unknown>> = {
  'GET /status': async ({ parts }) => ({ ...(await parts.engine.status()), protocol: 1 }),
  'PUT /settings': ({ parts, body }) => parts.engine.configure(body),
  'POST /check': ({ parts, body }) => parts.engine.check(body),
  'GET /pipelines': ({ parts }) => parts.engine.list(),
  'GET /pipelines/:id': ({ parts, id }) => parts.engine.view(id),
  'PUT /pipelines/:id': ({ parts, query, body }) => parts.engine.put(body, { create: query.has('create') }),
  'DELETE /pipelines/:id': ({ parts, id, query }) => parts.engine.remove(id, { force: query.has('force') }),
  'POST /pipelines/:id/play': ({ parts, id, query }) => parts.engine.play(id, { wait: query.has('wait') }),
  'POST /pipelines/:id/stop': ({ parts, id }) => parts.engine.stop(id),
  'GET /pipelines/:id/log': ({ parts, id }) => parts.engine.log(id),
  'GET /events': ({ parts }) => follow((signal) => parts.engine.events(signal), [HEARTBEAT]),
  'POST /pipelines/:id/screenshots/start': ({ parts, id, query, body }) =>
    parts.screenshots.start(id, body, { resume: query.has('resume') }),
  'POST /pipelines/:id/screenshots/stop': ({ parts, id }) => parts.screenshots.stop(id),
  'PUT /pipelines/:id/geolocation': ({ parts, id, body }) => parts.screenshots.locate(id, body.geolocation),
  'GET /pipelines/:id/snapshot': async ({ parts, id, query }) =>
    pictureResponse(await parts.screenshots.snapshot(id, numbers(query, 'quality', 'width'))),
  'GET /screenshots': ({ parts, query }) =>
    parts.screenshots.list({
      pipeline_id: query.get('pipeline_id') ?? undefined,
      limit: Number(query.get('limit') ?? 1),
      ...numbers(query, 'before'),
    }),
  'DELETE /screenshots': async ({ parts, query }) => ({ deleted: await parts.screenshots.removeOf(query.get('pipeline_id') ?? '') }),
  'GET /screenshots/:id': async ({ parts, id }) => pictureResponse(await parts.screenshots.read(id)),
  'DELETE /screenshots/:id': ({ parts, id }) => parts.screenshots.remove(id),
  'POST /pipelines/:id/klv/start': ({ parts, id }) => parts.klv.start(id),
  'POST /pipelines/:id/klv/stop': ({ parts, id }) => parts.klv.stop(id),
  'GET /pipelines/:id/klv': ({ parts, id, query }) => (query.has('format') ? parts.klv.latestFeature(id) : parts.klv.latest(id)),
  'GET /pipelines/:id/klv/events': ({ parts, id }) => follow((signal) => tagged(parts.klv, id, signal), [HEARTBEAT]),
  'GET /cameras': ({ parts }) => parts.cameras.list(),
  'GET /camera': ({ parts, query }) => parts.cameras.capabilities(query.get('path') ?? ''),
  'GET /cameras/events': ({ parts }) => follow((signal) => parts.cameras.follow(signal)),
  'POST /passwords/hash': async ({ parts, body }) => ({ hash: await parts.hasher.hash(body.password) }),
  'POST /passwords/verify': async ({ parts, body }) => ({ matches: await parts.hasher.verify(body.hash, body.password) }),
  'GET /metrics': () => new Response('# the metrics of the engine\n'),
}

/** The engine's HTTP face over fakes, as one function: what a service binding of a worker reaches. */
export const engineFace =
  (parts: () => EngineParts, token: string) =>
  async (request: Request): Promise<Response> => {
    const { pathname, searchParams } = new URL(request.url)
    const [, collection = '', name, ...rest] = pathname.split('/')
    const hasId = name !== undefined && (collection === 'pipelines' || collection === 'screenshots')
    const pattern = hasId ? ['', collection, ':id', ...rest].join('/') : pathname
    const answer = CALLS[`${request.method} ${pattern}`]
    try {
      if (request.headers.get('authorization') !== `Bearer ${token}`) throw new ApiError('UNAUTHORIZED', 'Unknown bearer secret.')
      if (answer === undefined) throw new ApiError('NOT_FOUND', `The engine has no call ${request.method} ${pathname}.`)
      const text = await request.text()
      const body: unknown = text === '' ? undefined : JSON.parse(text)
      const id = hasId ? decodeURIComponent(name) : ''
      const result = await answer({ parts: parts(), id, query: searchParams, body, signal: request.signal })
      return result instanceof Response ? result : Response.json(result ?? null)
    } catch (error) {
      const known = error instanceof ApiError ? error : new ApiError('INTERNAL_ERROR', String(error))
      return Response.json(errorBody(known), { status: known.status })
    }
  }
