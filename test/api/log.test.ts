import { describe, expect, it } from 'vitest'
import { createTestApi, simple, type TestApi } from '../helpers/api/api.ts'
import { nodeHost } from '../helpers/api/hosts.ts'
import { type ApiRow, testRows } from './api-rows.ts'

const lines = Array.from({ length: 5 }, (_, at) => ({
  at: '2026-11-20T10:00:00.000Z',
  run: at < 2 ? 1 : 2,
  stream: 'stderr' as const,
  line: `line ${at + 1}`,
}))

const given = async (api: TestApi) => {
  await api.given(simple('cam-1', { on_demand: true }))
  api.engine.logLines = lines
}

const log = (query: string): ApiRow['request'] => ['GET', `/svc/pipeline/cam-1/log${query}`]
const answers = (expected: readonly unknown[]) => (_api: TestApi, _response: Response, text: string) =>
  expect(JSON.parse(text)).toEqual(expected)

describe('the log of a pipeline', () => {
  testRows([
    { name: 'has the lines of all runs, the oldest first', given, request: log(''), status: 200, after: answers(lines) },
    { name: 'has the newest lines up to a limit', given, request: log('?limit=2'), status: 200, after: answers(lines.slice(-2)) },
    { name: 'has all lines when the limit is beyond them', given, request: log('?limit=1000'), status: 200, after: answers(lines) },
    ...['0', '1001', '-1', '1.5', 'x', '', '9999999999'].map(
      (limit): ApiRow => ({
        name: `refuses the limit "${limit}"`,
        given,
        request: log(`?limit=${limit}`),
        status: 400,
        contains: ['limit'],
      }),
    ),
    { name: 'refuses two limits', given, request: log('?limit=1&limit=2'), status: 400 },
    { name: 'refuses an id outside the pattern', request: ['GET', '/svc/pipeline/a.b/log'], status: 400 },
  ])
})

describe('the log line of a request', () => {
  it('has the id, method, route template, status and time of each request, and no query', async () => {
    await using api = await createTestApi(nodeHost)
    await given(api)
    const response = await api.send('GET', '/svc/pipeline/cam-1/log?limit=1&token=hunter2', undefined, { 'x-request-id': 'abc-1' })
    expect(response.headers.get('x-request-id')).toBe('abc-1')
    const requests = api.logged.filter(({ event }) => event === 'request')
    expect(requests).toMatchObject([
      { level: 'info', fields: { method: 'POST', route: '/svc/pipeline', status: 201 } },
      {
        level: 'debug',
        fields: { method: 'GET', route: '/svc/pipeline/:id/log', status: 400, request_id: 'abc-1', ms: expect.any(Number) },
      },
    ])
    expect(JSON.stringify(api.logged)).not.toContain('hunter2')
  })

  it('has no route for an unknown path, and is written for refused requests too', async () => {
    await using api = await createTestApi(nodeHost)
    await api.send('GET', '/svc/secret-token-in-a-path')
    await api.send('DELETE', '/svc/pipeline/nobody')
    expect(api.logged.filter(({ event }) => event === 'request')).toMatchObject([
      { level: 'debug', fields: { method: 'GET', route: null, status: 404 } },
      { level: 'info', fields: { method: 'DELETE', route: '/svc/pipeline/:id', status: 404 } },
    ])
    expect(JSON.stringify(api.logged)).not.toContain('secret-token')
  })

  for (const insane of ['a b', 'x'.repeat(129), 'quote"', '{}', 'é']) {
    it(`has a generated id when the client's id is not valid: ${insane.slice(0, 10)}`, async () => {
      await using api = await createTestApi(nodeHost)
      const response = await api.send('GET', '/svc/healthz', undefined, { 'x-request-id': insane })
      expect(response.headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/)
    })
  }
})
