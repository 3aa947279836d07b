import { describe, expect, it } from 'vitest'
import { type AppDeps, apiRoutes, createApp } from '../../handlers/app.ts'
import { createOpenApiDocument } from '../../lib/openapi/document.ts'
import { createTestApi, toRequest } from '../helpers/api/api.ts'

const EXPLORER = 'http://127.0.0.1:8081'

/** Header fields of every answer in the API document. */
const documentedHeaders = (): ReadonlySet<string> => {
  const { paths } = createOpenApiDocument(apiRoutes({} as AppDeps), { version: '0.1.0', serverUrl: EXPLORER })
  const responses = Object.values(paths).flatMap((path) => Object.values(path).flatMap((operation) => Object.values(operation.responses)))
  return new Set(responses.flatMap(({ headers }) => Object.keys(headers as object)))
}

/** Those that the CORS protocol never withholds, and what only the browser itself needs. */
const ALWAYS_READABLE: ReadonlySet<string> = new Set(['cache-control', 'last-modified', 'content-disposition', 'www-authenticate'])

describe('pages of other origins', () => {
  const ask = async (origins: readonly string[], method: string, headers: Record<string, string>) => {
    await using api = await createTestApi()
    return await createApp({ ...api.deps, corsOrigins: origins })(toRequest(method, '/svc/pipeline', undefined, headers))
  }

  it('get no CORS header by default', async () => {
    const response = await ask([], 'GET', { origin: EXPLORER })
    expect([response.status, response.headers.get('access-control-allow-origin')]).toEqual([200, null])
  })

  it('get none when another origin is allowed, even one with the same beginning', async () => {
    for (const origin of ['http://evil.test', `${EXPLORER}.evil.test`, 'null']) {
      const response = await ask([EXPLORER], 'GET', { origin })
      expect(response.headers.get('access-control-allow-origin')).toBeNull()
    }
  })

  it('may read the answer when their origin is allowed, and the answer varies by origin', async () => {
    const response = await ask([EXPLORER], 'GET', { origin: EXPLORER })
    expect([response.status, await response.text()]).toEqual([200, '[]'])
    expect(response.headers.get('access-control-allow-origin')).toBe(EXPLORER)
    expect(response.headers.get('access-control-allow-credentials')).toBeNull()
    expect(response.headers.get('vary')).toBe('origin')
    expect(response.headers.get('cache-control')).toBe('no-store')
  })

  it('may read every header field that the API document names', async () => {
    const { headers } = await ask([EXPLORER], 'GET', { origin: EXPLORER })
    const exposed = headers.get('access-control-expose-headers')?.split(', ') ?? []
    expect([...documentedHeaders()].filter((name) => !exposed.includes(name) && !ALWAYS_READABLE.has(name))).toEqual([])
  })

  it('get the methods of a path in a preflight without credentials', async () => {
    const response = await ask([EXPLORER], 'OPTIONS', {
      origin: EXPLORER,
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'authorization',
    })
    expect(response.status).toBe(204)
    expect(response.headers.get('access-control-allow-methods')).toBe('GET, HEAD, POST')
    expect(response.headers.get('access-control-allow-headers')).toContain('authorization')
  })

  it('get no CORS header in a preflight when their origin is not allowed', async () => {
    const response = await ask([EXPLORER], 'OPTIONS', { origin: 'http://evil.test', 'access-control-request-method': 'POST' })
    expect([response.status, response.headers.get('access-control-allow-methods')]).toEqual([405, null])
  })
})
