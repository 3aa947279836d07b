import { build } from 'esbuild'
import { describe, expect, it } from 'vitest'
import { type AppDeps, apiRoutes } from '../../../../handlers/app.ts'
import { ApiError, type ClientOptions, createClient, etagOf } from '../../../../handlers/client/client.ts'
import { OPERATIONS } from '../../../../handlers/client/operations.ts'
import { createOpenApiDocument, documentedPath } from '../../../../lib/openapi/document.ts'
import { REPRESENTED_PIPELINE } from '../../../../lib/openapi/examples.ts'
import { startHttpServer } from '../../../helpers/http-server.ts'

const document = createOpenApiDocument(apiRoutes({} as AppDeps), { version: '0', serverUrl: 'http://api.test' })

interface Sent {
  readonly url: string
  readonly init: RequestInit & { readonly headers: Headers }
}

/** A client whose requests are answered here. */
const clientOf = (answer: () => Response, options: Partial<ClientOptions> = {}) => {
  const sent: Sent[] = []
  const fetch = async (url: string, init: RequestInit): Promise<Response> => {
    sent.push({ url, init: init as Sent['init'] })
    return answer()
  }
  return { client: createClient({ url: 'http://api.test/', fetch, ...options }), sent }
}

const failing = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => 'no error',
    (error: unknown) => error,
  )

const bundled = async (contents: string): Promise<string> => {
  const { outputFiles } = await build({
    stdin: { contents, resolveDir: new URL('../../../..', import.meta.url).pathname, loader: 'ts' },
    bundle: true,
    minify: true,
    format: 'esm',
    platform: 'neutral',
    mainFields: ['browser', 'module', 'main'],
    target: 'es2022',
    write: false,
  })
  return outputFiles[0]?.text ?? ''
}

describe('the client', () => {
  it('follows no redirect, so that the API key stays with its server', async () => {
    const asked: (string | undefined)[] = []
    const { url } = await startHttpServer((request, response) => {
      asked.push(request.url)
      response.writeHead(302, { location: 'http://localhost:1/svc/version' }).end()
    })
    const message = expect.stringContaining('redirects to http://localhost:1/svc/version')
    const fault = await failing(createClient({ url, apiKey: 'secret' }).getVersion())
    expect(fault).toMatchObject({ code: 'UNEXPECTED_ANSWER', status: 302, message })
    expect(asked).toEqual(['/svc/version'])
  })

  it('has a method for each operation of the API document, with its method and path', () => {
    const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, { operationId }]) => [operationId, `${method.toUpperCase()} ${path}`]),
    )
    expect(operations.length).toBeGreaterThan(38)
    expect(Object.keys(createClient({ url: '' })).sort()).toEqual(operations.map(([name]) => name).sort())
    const lines = Object.entries(OPERATIONS).map(([name, line]) => [name, documentedPath(line).split(' ').slice(0, 2).join(' ')])
    expect(Object.fromEntries(lines)).toEqual(Object.fromEntries(operations))
  })

  it('is smaller than 15 kB when minified, uses nothing of Node.js, and has no side effects', async () => {
    const everything = await bundled("export * from './handlers/client/client.ts'")
    expect(everything.length).toBeLessThan(15_000)
    expect(everything).not.toMatch(/\bprocess\b|\bBuffer\b|node:/)
    expect((await bundled("import { ApiError } from './handlers/client/client.ts'; console.log(ApiError)")).length).toBeLessThan(1500)
    expect(await bundled("import './handlers/client/client.ts'")).toBe('')
  })

  it('puts fields into path and query, and credentials into the header', async () => {
    const { client, sent } = clientOf(() => Response.json([]), { apiKey: 'key', token: () => 'token', headers: { cookie: 'a=b' } })
    await client.listPipelines({ mode: 'simple', on_demand: true, state: undefined })
    await client.getPipelineLog({ id: 'gate', limit: 5 })
    await client.getCamera({ path: '/dev/video0' })
    expect(sent.map(({ url }) => url)).toEqual([
      'http://api.test/svc/pipeline?mode=simple&on_demand=true',
      'http://api.test/svc/pipeline/gate/log?limit=5',
      'http://api.test/svc/camera?path=%2Fdev%2Fvideo0',
    ])
    expect(Object.fromEntries(sent[0]?.init.headers ?? [])).toEqual({ authorization: 'Bearer token', 'x-api-key': 'key', cookie: 'a=b' })
  })

  it('sends a body as JSON, conditions as header fields, and the signal', async () => {
    const { client, sent } = clientOf(() => Response.json(REPRESENTED_PIPELINE), { url: new URL('http://proxy.test/video/') })
    const { signal } = new AbortController()
    await client.patchPipeline({ id: 'gate', body: { geolocation: null }, ifMatch: '"1"', signal })
    expect(sent).toMatchObject([
      { url: 'http://proxy.test/video/svc/pipeline/gate', init: { method: 'PATCH', body: '{"geolocation":null}', signal } },
    ])
    expect(Object.fromEntries(sent[0]?.init.headers ?? [])).toEqual({ 'content-type': 'application/json', 'if-match': '"1"' })
  })

  it('keeps an id within its segment of the path, and refuses one that would change the path', async () => {
    const { client, sent } = clientOf(() => Response.json({}))
    for (const id of ['', '.', '..']) expect(await failing(client.deletePipeline({ id }))).toBeInstanceOf(TypeError)
    await client.getPipeline({ id: '../settings?x=/#' })
    expect(sent.map(({ url }) => url)).toEqual(['http://api.test/svc/pipeline/..%2Fsettings%3Fx%3D%2F%23'])
  })

  it('answers text as a string, pictures as a Response, and nothing as undefined', async () => {
    const answers: Response[] = [
      new Response('svc_engine_up 1', { headers: { 'content-type': 'text/plain; version=0.0.4' } }),
      new Response('jpeg', { headers: { 'content-type': 'image/jpeg' } }),
      new Response(null, { status: 304 }),
      new Response(null, { status: 204 }),
    ]
    const { client } = clientOf(() => answers.shift() as Response)
    expect(await client.getMetrics()).toBe('svc_engine_up 1')
    expect(await (await client.getSnapshot({ id: 'gate', width: 320 })).text()).toBe('jpeg')
    expect((await client.getSnapshot({ id: 'gate', ifNoneMatch: '"1"' })).status).toBe(304)
    expect(await client.deletePipeline({ id: 'gate' })).toBeUndefined()
  })

  it('has the ETag of what it has read', async () => {
    const { client } = clientOf(() => Response.json(REPRESENTED_PIPELINE, { headers: { etag: '"1"' } }))
    const pipeline = await client.getPipeline({ id: 'gate' })
    expect([etagOf(pipeline), etagOf({ ...pipeline })]).toEqual(['"1"', undefined])
  })

  it('answers the health of a degraded service', async () => {
    const { client } = clientOf(() => Response.json({ status: 'degraded' }, { status: 503 }))
    expect(await client.getHealth()).toEqual({ status: 'degraded' })
    expect(await failing(client.getVersion())).toMatchObject({ code: 'UNEXPECTED_ANSWER', status: 503 })
  })

  it('throws the error of an answer with all its fields', async () => {
    const body = { message: 'Gate runs.', code: 'CONFLICT', details: { reason: 'running' } }
    const { client } = clientOf(() => Response.json(body, { status: 409, headers: { 'x-request-id': 'r-1', 'retry-after': '7' } }))
    const error = await failing(client.deletePipeline({ id: 'gate' }))
    expect(error).toBeInstanceOf(ApiError)
    expect(error).toMatchObject({ ...body, name: 'ApiError', status: 409, requestId: 'r-1', retryAfter: 7 })
  })

  it.each([
    ['UNAUTHORIZED', 'the refusal of a trigger', () => Response.json({ error: 'Unauthorized' }, { status: 401 })],
    ['UNEXPECTED_ANSWER', 'a page of a proxy', () => new Response('<h1>', { status: 502, headers: { 'content-type': 'text/html' } })],
    ['UNEXPECTED_ANSWER', 'a page instead of JSON', () => new Response('<h1>', { headers: { 'content-type': 'text/html' } })],
    ['UNEXPECTED_ANSWER', 'JSON of another API', () => Response.json('no', { status: 404 })],
  ])('throws %s for %s', async (code, _, answer) => {
    expect(await failing(clientOf(answer).client.getSettings())).toMatchObject({ code })
  })

  it('throws what fetch throws', async () => {
    const refused = new TypeError('fetch failed')
    const client = createClient({ url: 'http://api.test', fetch: () => Promise.reject(refused) })
    expect(await failing(client.getHealth())).toBe(refused)
  })
})

describe('the options of a client', () => {
  const refused = [undefined, 'http://127.0.0.1:8080', {}, { url: 'localhost:8080' }, { url: 'rtsp://u:secret@10.0.0.1' }]
  it.each(refused)('are refused at once without a URL of HTTP, and without showing it: %j', (options) => {
    const message = /^(?!.*secret).*object with the url of the service, which begins with http/
    expect(() => createClient(options as ClientOptions)).toThrow(message)
  })

  it.each(['', '/below/a/prefix', new URL('https://cameras.example.org/')])('may have the URL "%s", in a page also relative', (url) => {
    expect(() => createClient({ url })).not.toThrow()
  })
})
