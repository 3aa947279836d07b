import * as v from 'valibot'
import { describe, expect, it } from 'vitest'
import { apiRoutes, createApp } from '../../handlers/app.ts'
import { ApiError, ERROR_STATUS, type ErrorCode } from '../../lib/errors.ts'
import { documentedPath } from '../../lib/openapi/document.ts'
import { API_KEY, createTestApi, simple, type TestApi, toRequest } from '../helpers/api/api.ts'
import { followSse } from '../helpers/api/sse-client.ts'
import { readDocument, readSources, section, tableRows } from '../helpers/documents.ts'
import { klvPacket } from '../helpers/fakes/klv.ts'

// biome-ignore lint/suspicious/noExplicitAny: a document is walked as any JSON
type Json = any

const documentOf = (api: TestApi): Json => api.answers.document

/** Every operation of the document with the place where it stands. */
const operationsOf = (api: TestApi) =>
  Object.entries<Json>(documentOf(api).paths).flatMap(([path, item]) =>
    Object.entries<Json>(item).map(([method, operation]) => ({ name: `${method.toUpperCase()} ${path}`, path, method, operation })),
  )

/** What a reference in the document leads to; anything else as it is. */
const resolve = (api: TestApi, node: Json): Json =>
  typeof node?.$ref === 'string'
    ? node.$ref
        .slice(2)
        .split('/')
        .reduce((found: Json, part: string) => found?.[part], documentOf(api))
    : node

const routeNames = (api: TestApi) => apiRoutes(api.deps).map(({ method, path }) => `${method} ${documentedPath(path)}`)

describe('the API document', () => {
  it('has one operation for each route, with a unique name', async () => {
    await using api = await createTestApi()
    const operations = operationsOf(api)
    expect(operations.map(({ name }) => name).sort()).toEqual(routeNames(api).sort())
    expect(new Set(operations.map(({ operation }) => operation.operationId)).size).toBe(operations.length)
  })

  it('has no dangling references', async () => {
    await using api = await createTestApi()
    const references = [...JSON.stringify(documentOf(api)).matchAll(/"\$ref":"([^"]+)"/g)].map(([, reference = '']) => reference)
    expect(references.length).toBeGreaterThan(50)
    for (const reference of references) {
      expect([reference, typeof resolve(api, { $ref: reference })]).toEqual([reference, 'object'])
    }
  })

  it('describes each operation and parameter, and each field of a body that is not read-only', async () => {
    await using api = await createTestApi()
    const bare: string[] = []
    const look = (where: string, schema: Json): void => {
      for (const [name, property] of Object.entries<Json>(schema?.properties ?? {})) {
        const group = property.type === 'object' || property.$ref !== undefined
        if (property.const === undefined && !group && !property.description) bare.push(`${where}.${name}`)
        if (property.type === 'object') look(`${where}.${name}`, property)
      }
    }
    for (const { name, operation } of operationsOf(api)) {
      if (!operation.description) bare.push(name)
      for (const parameter of operation.parameters ?? []) if (!resolve(api, parameter).description) bare.push(`${name} ${parameter.name}`)
    }
    const { schemas } = documentOf(api).components
    for (const name of Object.keys(schemas).filter((key) => /Request$|Replacement$|Change$|Start$/.test(key))) look(name, schemas[name])
    expect(bare).toEqual([])
  })

  it('has examples of every body and JSON answer, and each is valid against its schema', async () => {
    await using api = await createTestApi()
    for (const { name, path, method, operation } of operationsOf(api)) {
      const contents = [
        ...(operation.requestBody === undefined ? [] : [[['requestBody'], operation.requestBody] as const]),
        ...Object.entries<Json>(operation.responses).map(([status, response]) => [['responses', status], response] as const),
      ]
      for (const [at, { content = {} }] of contents) {
        for (const [type, { examples }] of Object.entries<Json>(content)) {
          if (!type.endsWith('json')) continue
          expect([name, at, Object.keys(examples ?? {}).length > 0]).toEqual([name, at, true])
          for (const { value } of Object.values<Json>(examples))
            api.answers.checkValue(['paths', path, method, ...at, 'content', type, 'schema'], value)
        }
      }
    }
    for (const { operation, body } of apiRoutes(api.deps)) {
      for (const example of Object.values(body?.examples ?? {})) {
        expect([operation, body && v.safeParse(body.schema, example).issues]).toEqual([operation, undefined])
      }
    }
  })

  it('shows the errors of operations without a body as they answer them', async () => {
    await using api = await createTestApi()
    const wrong: unknown[] = []
    for (const { method, path, operation } of operationsOf(api).filter((each) => each.operation.requestBody === undefined)) {
      const address = path.replace('{id}', 'gate').replace('{file}', 'gate_20261120T100000000Z.jpg')
      const tell = async (query: string, headers: Record<string, string>): Promise<void> => {
        const response = await api.send(method.toUpperCase(), `${address}${query}`, undefined, headers)
        const body = (await response.json()) as Json
        const shown = operation.responses[response.status]?.content['application/json'].examples[body.code]?.value
        if (JSON.stringify(shown) !== JSON.stringify(body)) wrong.push([operation.operationId, shown, body])
      }
      await tell('?verbose=1', { 'x-api-key': API_KEY })
      if (method === 'get' && operation.security.length > 0) await tell('', { host: 'video.example.org' })
    }
    expect(wrong).toEqual([])
  })

  it('lists each error code at its status', async () => {
    await using api = await createTestApi()
    const found = new Set<string>()
    for (const { name, operation } of operationsOf(api)) {
      for (const [status, { content }] of Object.entries<Json>(operation.responses)) {
        for (const code of content?.['application/json']?.schema?.allOf?.[1]?.properties?.code?.enum ?? []) {
          expect([name, code, String(ERROR_STATUS[code as keyof typeof ERROR_STATUS])]).toEqual([name, code, status])
          found.add(code)
        }
      }
    }
    // No operation is at an address without the method.
    expect([...found, 'METHOD_NOT_ALLOWED'].sort()).toEqual(Object.keys(ERROR_STATUS).sort())
  })

  it('lists the reasons of the conflicts and of what is unavailable', async () => {
    await using api = await createTestApi()
    const { description } = documentOf(api).info as { description: string }
    // `new ApiError('CONFLICT', … { reason: 'exists' })`, up to the next error.
    const thrown = readSources().matchAll(/ApiError\(\s*'(?:CONFLICT|SERVICE_UNAVAILABLE)',(?:(?!ApiError\().){0,400}?\breason: '(\w+)'/gs)
    const reasons = new Set([...thrown].map(([, reason = '']) => reason))
    expect(reasons.size).toBeGreaterThan(15)
    expect([...reasons].filter((reason) => !description.includes(`\`${reason}\``))).toEqual([])
  })

  it('requires the same credentials as the guard', async () => {
    await using api = await createTestApi()
    const expected = { public: [], session: [{ session: [] }, { apiKey: [] }], api_key: [{ apiKey: [] }] }
    const { paths } = documentOf(api)
    for (const { method, path, access } of apiRoutes(api.deps)) {
      expect([path, paths[documentedPath(path)][method.toLowerCase()].security]).toEqual([path, expected[access]])
    }
  })

  it('lists SERVICE_UNAVAILABLE on each route that checks a token', async () => {
    await using api = await createTestApi()
    await api.send('PUT', '/svc/auth/password', { password: 'correct horse' })
    api.deps.sessions.find = async () => {
      throw new ApiError('SERVICE_UNAVAILABLE', 'The database does not answer. Try again in a moment.', { reason: 'database' })
    }
    for (const { method, path, access } of apiRoutes(api.deps)) {
      if (access !== 'session') continue
      const { status } = await api.send(method, path.replace(/:\w+/g, 'x'), undefined, { authorization: `Bearer ${'A'.repeat(43)}` })
      expect([method, path, status]).toEqual([method, path, 503])
    }
  })

  it('has the answers of error cases', async () => {
    await using api = await createTestApi()
    const trouble = (code: ErrorCode) => async (): Promise<never> => {
      throw new ApiError(code, 'It does not work now.')
    }
    const { snapshot } = api.screenshots
    await api.given(simple('gate'))
    api.screenshots.snapshot = trouble('ENGINE_ERROR')
    expect((await api.send('GET', '/svc/pipeline/gate/snapshot')).status).toBe(500)
    api.screenshots.snapshot = snapshot
    api.license = JSON.stringify({ licensee: 'Test', codecs: ['h264'], max_streams: 1 })
    const publish = await api.send('PUT', '/svc/triggers/mediaServer/publish?path=live', undefined, { 'x-api-key': API_KEY })
    expect([publish.status, await publish.text()]).toEqual([402, expect.stringContaining('LICENSE_LIMIT_EXCEEDED')])
    for (let count = 0; count < 10; count += 1) await api.send('POST', '/svc/auth/login', { password: 'guess' })
    expect((await api.send('POST', '/svc/auth/login', { password: 'guess' })).status).toBe(429)
    api.time += 60_000
    api.deps.credentials.find = trouble('SERVICE_UNAVAILABLE')
    expect((await api.send('GET', '/svc/auth/status')).status).toBe(503)
    expect((await api.send('POST', '/svc/auth/login', { password: 'guess' })).status).toBe(503)
    const stopping = await createApp({ ...api.deps, isStopping: () => true })(toRequest('GET', '/svc/healthz'))
    expect(stopping.status).toBe(503)
    await api.answers.check('GET', `${api.origin}/svc/healthz`, stopping)
  })

  it('lists the query parameters that the operations read', async () => {
    await using api = await createTestApi()
    await api.given(simple('gate', { on_demand: true }))
    let count = 0
    for (const { path, method, operation } of operationsOf(api)) {
      for (const { name, in: place } of (operation.parameters ?? []).map((parameter: Json) => resolve(api, parameter))) {
        if (place !== 'query') continue
        count += 1
        const address = `${path.replace('{id}', 'gate').replace('{file}', 'gate_20261120T100000000Z.jpg')}?${name}=1&${name}=2`
        const response = await api.send(method.toUpperCase(), address, undefined, { 'x-api-key': API_KEY })
        expect([address, response.status, await response.text()]).toEqual([address, 400, expect.stringContaining(`"path":"${name}"`)])
      }
    }
    expect(count).toBeGreaterThan(10)
  })

  it('has the enforced bounds of the settings', async () => {
    await using api = await createTestApi()
    const numbers: [path: string[], minimum: number, maximum: number][] = []
    const look = (path: string[], schema: Json): void => {
      for (const option of schema.anyOf ?? []) look(path, option)
      if (schema.minimum !== undefined) numbers.push([path, schema.minimum, schema.maximum])
      for (const [name, property] of Object.entries<Json>(schema.properties ?? {})) look([...path, name], property)
    }
    look([], documentOf(api).components.schemas.SettingsChange)
    expect(numbers.length).toBeGreaterThan(10)
    for (const [path, minimum, maximum] of numbers) {
      const put = async (value: number) => {
        const body = path.reduceRight<unknown>((inner, name) => ({ [name]: inner }), value)
        return (await api.send('PUT', '/svc/settings', body)).status
      }
      const statuses = [await put(minimum - 1), await put(minimum), await put(maximum), await put(maximum + 1)]
      expect([path, statuses]).toEqual([path, [400, 200, 200, 400]])
    }
  })

  it.each([
    [{ width: 640, height: 360 }, true],
    [{}, true],
    [{ width: 641, height: 360 }, false],
    [{ width: 640, height: 361 }, false],
    [{ width: 640 }, false],
    [{ height: 360 }, false],
  ])('allows the size of an encoding %j as the service does: %j', async (size, allowed) => {
    await using api = await createTestApi()
    const encoding = { codec: 'h264', ...size }
    const schema = ['components', 'schemas', 'EncodingRequest']
    if (allowed) api.answers.checkValue(schema, encoding)
    else expect(() => api.answers.checkValue(schema, encoding)).toThrow()
    const { status } = await api.send('POST', '/svc/pipeline/validate', simple('cam-1', { encoding }))
    expect(status).toBe(allowed ? 200 : 400)
  })

  it('has the same list of operations as docs/api.md', async () => {
    await using api = await createTestApi()
    const rows = tableRows(section(readDocument('docs/api.md'), '## Operations'))
    const listed = rows.flatMap(([cell = '']) => /^`([A-Z]+ \/svc\/[^`]*)`$/.exec(cell)?.[1] ?? [])
    expect(listed.sort()).toEqual(routeNames(api).sort())
  })

  it('has the same events as docs/api.md, with the same fields', async () => {
    await using api = await createTestApi()
    const streams = operationsOf(api).flatMap(({ operation }) => operation.responses['200']?.content?.['text/event-stream'] ?? [])
    const events = Object.assign({}, ...streams.map((stream: Json) => stream['x-events'])) as Record<string, Json>
    const fields = (schema: Json): string[] => Object.keys(schema.properties ?? {})
    const listed = tableRows(section(readDocument('docs/api.md'), '## Events')).filter(([cell = '']) => cell.startsWith('`'))
    expect(listed.map(([name = '']) => name.slice(1, -1)).sort()).toEqual(Object.keys(events).sort())
    for (const [name = '', data = ''] of listed)
      expect([name, [...data.matchAll(/`(\w+)`/g)].map(([, field]) => field)]).toEqual([name, fields(events[name.slice(1, -1)])])
  })

  it('needs the credentials that docs/api.md says', async () => {
    await using api = await createTestApi()
    const meanings = new Map(
      tableRows(section(readDocument('docs/api.md'), '## Operations')).map(([cell = '', meaning]) => [cell, meaning]),
    )
    for (const { method, path, access } of apiRoutes(api.deps)) {
      const name = `${method} ${documentedPath(path)}`
      const meaning = meanings.get(`\`${name}\``) ?? ''
      const said = /; public$/.test(meaning) ? 'public' : /always needs the API key$/.test(meaning) ? 'api_key' : 'session'
      expect([name, said]).toEqual([name, access])
    }
  })
})

describe('the header fields in the document', () => {
  const parametersOf = (api: TestApi, operation: Json): string[] =>
    operation.parameters
      .map((parameter: Json) => resolve(api, parameter))
      .filter((parameter: Json) => parameter.in === 'header')
      .map((parameter: Json) => parameter.name)

  it('are those that the operations read', async () => {
    await using api = await createTestApi()
    const readers = (header: string) =>
      operationsOf(api).flatMap(({ operation }) => (parametersOf(api, operation).includes(header) ? [operation.operationId] : []))
    expect(readers('If-Match').sort()).toEqual(['changeSettings', 'deletePipeline', 'patchPipeline', 'replacePipeline'])
    expect(readers('If-None-Match').sort()).toEqual(['getScreenshot', 'getSnapshot'])
    expect(readers('Last-Event-ID').sort()).toEqual(['followCameras', 'followEverything', 'followKlv', 'followPipeline'])
    expect(readers('X-Request-Id').length).toBe(operationsOf(api).length)
  })

  it('are an ETag wherever If-Match is taken or a pipeline is answered', async () => {
    await using api = await createTestApi()
    const withEtag = operationsOf(api).flatMap(({ operation }) =>
      Object.entries<Json>(operation.responses).some(([status, { headers }]) => status.startsWith('2') && headers.etag !== undefined)
        ? [operation.operationId]
        : [],
    )
    for (const name of ['createPipeline', 'getPipeline', 'replacePipeline', 'patchPipeline', 'playPipeline', 'stopPipeline'])
      expect(withEtag).toContain(name)
    for (const name of ['getSettings', 'changeSettings', 'getSnapshot', 'getScreenshot']) expect(withEtag).toContain(name)
  })
})

describe('events', () => {
  it('carry the documented data', async () => {
    await using api = await createTestApi()
    const streams = await Promise.all(['/svc/events', '/svc/cameras/events'].map((path) => api.send('GET', path)))
    await api.given(simple('gate'))
    streams.push(
      ...(await Promise.all(['/svc/pipeline/gate/status/events', '/svc/pipeline/gate/klv/events'].map((path) => api.send('GET', path)))),
    )
    await api.send('PATCH', '/svc/pipeline/gate', { geolocation: { latitude: 1, longitude: 2 } })
    api.deps.events.push({
      type: 'pipeline_error',
      id: 'gate',
      code: 'ENGINE_ERROR',
      message: 'It failed.',
      cause: 'Not found',
      reason: 'not_found',
    })
    api.deps.events.push({ type: 'camera_added', device_path: '/dev/video0', device_name: 'Webcam', formats: 2 })
    api.deps.events.push({ type: 'camera_removed', device_path: '/dev/video0' })
    api.deps.events.push({ type: 'klv', id: 'gate', packet: klvPacket('gate', 60) })
    await api.send('PUT', '/svc/pipeline/gate/stop')
    await api.send('DELETE', '/svc/pipeline/gate')
    const seen = new Set<string>()
    const follow = async (response: Response, path: string, last: string) => {
      const client = followSse(response)
      for (let block = await client.next(); block !== undefined; block = await client.next()) {
        if (block.event === undefined) continue
        seen.add(block.event)
        api.answers.checkEvent(`${api.origin}${path}`, block.event, block.data)
        if (block.event === last) return client.leave()
      }
    }
    const [everything, cameras, status, klv] = streams as [Response, Response, Response, Response]
    await follow(everything, '/svc/events', 'pipeline_not_found')
    await follow(cameras, '/svc/cameras/events', 'camera_removed')
    await follow(status, '/svc/pipeline/gate/status/events', 'pipeline_not_found')
    await follow(klv, '/svc/pipeline/gate/klv/events', 'pipeline_not_found')
    expect([...seen].sort()).toEqual(['camera_added', 'camera_removed', 'klv', 'pipeline_error', 'pipeline_not_found', 'pipeline_status'])
  })
})
