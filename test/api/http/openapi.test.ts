import * as v from 'valibot'
import { describe, expect, it } from 'vitest'
import { apiRoutes } from '../../../handlers/app.ts'
import { ApiError, ERROR_STATUS, type ErrorCode } from '../../../lib/errors.ts'
import { documentedPath } from '../../../lib/openapi/document.ts'
import { ERROR_MESSAGES } from '../../../lib/openapi/examples.ts'
import { redact } from '../../../lib/redact.ts'
import { API_KEY, openApi, simple, useTestApi } from '../../helpers/api/api.ts'
import { readDocument, readSources, section, tableRows } from '../../helpers/documents.ts'

// biome-ignore lint/suspicious/noExplicitAny: a document is walked as any JSON
type Json = any

const shared = useTestApi()
const document = (): Json => shared().answers.document

/** Every operation of the document with the place where it stands. */
const operations = () =>
  Object.entries<Json>(document().paths).flatMap(([path, item]) =>
    Object.entries<Json>(item).map(([method, operation]) => ({ name: `${method.toUpperCase()} ${path}`, path, method, operation })),
  )

/** What a reference in the document leads to; anything else as it is. */
const resolve = (node: Json): Json =>
  typeof node?.$ref === 'string'
    ? node.$ref
        .slice(2)
        .split('/')
        .reduce((found: Json, part: string) => found?.[part], document())
    : node

const routes = () => apiRoutes(shared().deps)
const routeNames = () => routes().map(({ method, path }) => `${method} ${documentedPath(path)}`)

describe('the API document', () => {
  it('has one operation for each route, with a unique name', () => {
    const all = operations()
    expect(all.map(({ name }) => name).sort()).toEqual(routeNames().sort())
    expect(new Set(all.map(({ operation }) => operation.operationId)).size).toBe(all.length)
  })

  it('has no dangling references', () => {
    const references = [...JSON.stringify(document()).matchAll(/"\$ref":"([^"]+)"/g)].map(([, reference = '']) => reference)
    expect(references.length).toBeGreaterThan(50)
    for (const reference of references) {
      expect([reference, typeof resolve({ $ref: reference })]).toEqual([reference, 'object'])
    }
  })

  it('describes each operation and parameter, and each field of a body that is not read-only', () => {
    const bare: string[] = []
    const look = (where: string, schema: Json): void => {
      for (const [name, property] of Object.entries<Json>(schema?.properties ?? {})) {
        const group = property.type === 'object' || property.$ref !== undefined
        if (property.const === undefined && !group && !property.description) bare.push(`${where}.${name}`)
        if (property.type === 'object') look(`${where}.${name}`, property)
      }
    }
    for (const { name, operation } of operations()) {
      if (!operation.description) bare.push(name)
      for (const parameter of operation.parameters ?? []) if (!resolve(parameter).description) bare.push(`${name} ${parameter.name}`)
    }
    const { schemas } = document().components
    for (const name of Object.keys(schemas).filter((key) => /Request$|Replacement$|Change$|Start$/.test(key))) look(name, schemas[name])
    expect(bare).toEqual([])
  })

  it('has examples of every body and JSON answer, and each is valid against its schema', () => {
    for (const { name, path, method, operation } of operations()) {
      const contents = [
        ...(operation.requestBody === undefined ? [] : [[['requestBody'], operation.requestBody] as const]),
        ...Object.entries<Json>(operation.responses).map(([status, response]) => [['responses', status], response] as const),
      ]
      for (const [at, { content = {} }] of contents) {
        for (const [type, { examples }] of Object.entries<Json>(content)) {
          if (!type.endsWith('json')) continue
          expect([name, at, Object.keys(examples ?? {}).length > 0]).toEqual([name, at, true])
          for (const { value } of Object.values<Json>(examples))
            shared().answers.checkValue(['paths', path, method, ...at, 'content', type, 'schema'], value)
        }
      }
    }
    for (const { operation, body } of routes()) {
      for (const example of Object.values(body?.examples ?? {})) {
        expect([operation, body && v.safeParse(body.schema, example).issues]).toEqual([operation, undefined])
      }
    }
  })

  it('shows the errors of operations without a body as they answer them', async () => {
    const api = await openApi()
    const wrong: unknown[] = []
    for (const { method, path, operation } of operations().filter((each) => each.operation.requestBody === undefined)) {
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

  it('lists each error code at its status', () => {
    const found = new Set<string>()
    for (const { name, operation } of operations()) {
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

  it('lists the reasons of the conflicts and of what is unavailable', () => {
    const { description } = document().info as { description: string }
    // `new ApiError('CONFLICT', … { reason: 'exists' })`, up to the next error.
    const thrown = readSources().matchAll(/ApiError\(\s*'(?:CONFLICT|SERVICE_UNAVAILABLE)',(?:(?!ApiError\().){0,400}?\breason: '(\w+)'/gs)
    const reasons = new Set([...thrown].map(([, reason = '']) => reason))
    expect(reasons.size).toBeGreaterThan(15)
    expect([...reasons].filter((reason) => !description.includes(`\`${reason}\``))).toEqual([])
  })

  it('requires the same credentials as the guard', () => {
    const expected = { public: [], session: [{ session: [] }, { apiKey: [] }], api_key: [{ apiKey: [] }] }
    const { paths } = document()
    for (const { method, path, access } of routes()) {
      expect([path, paths[documentedPath(path)][method.toLowerCase()].security]).toEqual([path, expected[access]])
    }
  })

  it('lists SERVICE_UNAVAILABLE on each route that checks a token', async () => {
    const api = await openApi()
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
    const api = await openApi()
    const failing = (code: ErrorCode) => async (): Promise<never> => {
      throw new ApiError(code, 'It does not work now.')
    }
    const { snapshot } = api.screenshots
    await api.given(simple('gate'))
    api.screenshots.snapshot = failing('ENGINE_ERROR')
    expect((await api.send('GET', '/svc/pipeline/gate/snapshot')).status).toBe(500)
    api.screenshots.snapshot = snapshot
    api.license = JSON.stringify({ licensee: 'Test', codecs: ['h264'], max_streams: 1 })
    const publish = await api.send('PUT', '/svc/triggers/mediaServer/publish?path=live', undefined, { 'x-api-key': API_KEY })
    expect([publish.status, await publish.text()]).toEqual([402, expect.stringContaining('LICENSE_LIMIT_EXCEEDED')])
    for (let count = 0; count < 10; count += 1) await api.send('POST', '/svc/auth/login', { password: 'guess' })
    expect((await api.send('POST', '/svc/auth/login', { password: 'guess' })).status).toBe(429)
    api.time += 60_000
    api.deps.credentials.find = failing('SERVICE_UNAVAILABLE')
    expect((await api.send('GET', '/svc/auth/status')).status).toBe(503)
    expect((await api.send('POST', '/svc/auth/login', { password: 'guess' })).status).toBe(503)
  })

  it('has messages in its examples that nothing masks', () => {
    for (const message of Object.values(ERROR_MESSAGES)) expect(redact(message)).toBe(message)
  })

  it('lists the query parameters that the operations read', async () => {
    const api = await openApi((api) => api.given(simple('gate', { on_demand: true })))
    let count = 0
    for (const { path, method, operation } of operations()) {
      for (const { name, in: place } of (operation.parameters ?? []).map((parameter: Json) => resolve(parameter))) {
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
    const api = await openApi()
    const numbers: [path: string[], minimum: number, maximum: number][] = []
    const look = (path: string[], schema: Json): void => {
      for (const option of schema.anyOf ?? []) look(path, option)
      if (schema.minimum !== undefined) numbers.push([path, schema.minimum, schema.maximum])
      for (const [name, property] of Object.entries<Json>(schema.properties ?? {})) look([...path, name], property)
    }
    look([], document().components.schemas.SettingsChange)
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
    const encoding = { codec: 'h264', ...size }
    const schema = ['components', 'schemas', 'EncodingRequest']
    if (allowed) shared().answers.checkValue(schema, encoding)
    else expect(() => shared().answers.checkValue(schema, encoding)).toThrow()
    const { status } = await shared().send('POST', '/svc/pipeline/validate', simple('cam-1', { encoding }))
    expect(status).toBe(allowed ? 200 : 400)
  })

  it('has the same list of operations as docs/api.md', () => {
    const rows = tableRows(section(readDocument('docs/api.md'), '## Operations'))
    const listed = rows.flatMap(([cell = '']) => /^`([A-Z]+ \/svc\/[^`]*)`$/.exec(cell)?.[1] ?? [])
    expect(listed.sort()).toEqual(routeNames().sort())
  })

  it('has the same events as docs/api.md, with the same fields', () => {
    const streams = operations().flatMap(({ operation }) => operation.responses['200']?.content?.['text/event-stream'] ?? [])
    const events = Object.assign({}, ...streams.map((stream: Json) => stream['x-events'])) as Record<string, Json>
    const fields = (schema: Json): string[] => Object.keys(schema.properties ?? {})
    const listed = tableRows(section(readDocument('docs/api.md'), '## Events')).filter(([cell = '']) => cell.startsWith('`'))
    expect(listed.map(([name = '']) => name.slice(1, -1)).sort()).toEqual(Object.keys(events).sort())
    for (const [name = '', data = ''] of listed)
      expect([name, [...data.matchAll(/`(\w+)`/g)].map(([, field]) => field)]).toEqual([name, fields(events[name.slice(1, -1)])])
  })

  it('needs the credentials that docs/api.md says', () => {
    const meanings = new Map(
      tableRows(section(readDocument('docs/api.md'), '## Operations')).map(([cell = '', meaning]) => [cell, meaning]),
    )
    for (const { method, path, access } of routes()) {
      const name = `${method} ${documentedPath(path)}`
      const meaning = meanings.get(`\`${name}\``) ?? ''
      const said = /; public$/.test(meaning) ? 'public' : /always needs the API key$/.test(meaning) ? 'api_key' : 'session'
      expect([name, said]).toEqual([name, access])
    }
  })
})

describe('the header fields in the document', () => {
  const parametersOf = (operation: Json): string[] =>
    operation.parameters.map(resolve).flatMap((parameter: Json) => (parameter.in === 'header' ? [parameter.name] : []))

  it('are those that the operations read', () => {
    const readers = (header: string) =>
      operations().flatMap(({ operation }) => (parametersOf(operation).includes(header) ? [operation.operationId] : []))
    expect(readers('If-Match').sort()).toEqual(['addCandidates', 'changeSettings', 'deletePipeline', 'patchPipeline', 'replacePipeline'])
    expect(readers('If-None-Match').sort()).toEqual(['getRecordedPicture', 'getScreenshot', 'getSnapshot'])
    expect(readers('Last-Event-ID').sort()).toEqual(['followCameras', 'followEverything', 'followKlv', 'followPipeline'])
    expect(readers('X-Request-Id').length).toBe(operations().length)
  })

  it('are an ETag wherever If-Match is taken or a pipeline is answered', () => {
    const hasEtag = ({ responses }: Json) =>
      Object.entries<Json>(responses).some(([status, { headers }]) => status.startsWith('2') && headers.etag !== undefined)
    const withEtag = operations().flatMap(({ operation }) => (hasEtag(operation) ? [operation.operationId] : []))
    const pipelines = ['create', 'get', 'replace', 'patch', 'play', 'stop'].map((verb) => `${verb}Pipeline`)
    expect(withEtag).toEqual(expect.arrayContaining([...pipelines, 'getSettings', 'changeSettings', 'getSnapshot', 'getScreenshot']))
  })
})
