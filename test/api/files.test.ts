import { describe, expect, it } from 'vitest'
import type { ScreenshotFile } from '../../lib/schema/screenshot.ts'
import { createTestApi, START, type TestApi } from '../helpers/api/api.ts'
import { testRows } from './api-rows.ts'

const BASE = '/svc/files/screenshots'
const fileOf = (pipeline_id: string, at: number): ScreenshotFile => {
  const created_at = new Date(START + at).toISOString()
  return {
    file: `${pipeline_id}_${created_at.replace(/[-:.]/g, '')}.jpg`,
    pipeline_id,
    created_at,
    size_bytes: 4,
    width: 2,
    height: 2,
    geolocation: null,
  }
}
const NAME = 'a_20261120T100000000Z.jpg'
/** Newest first: a 5, b 4, a 3, b 2, a 1, a 0. */
const some = async (api: TestApi) => {
  api.screenshots.files.push(...['a5', 'b4', 'a3', 'b2', 'a1', 'a0'].map((text) => fileOf(text.charAt(0), Number(text.charAt(1)))))
}
const namesIn = (text: string): string[] => (JSON.parse(text) as { file: string }[]).map(({ file }) => file.charAt(0) + file.slice(-6, -5))

describe('the list of screenshot files', () => {
  const rows = (
    [
      ['all, the newest first', '', ['a5', 'b4', 'a3', 'b2', 'a1', 'a0'], null],
      ['those of a pipeline', '?pipeline_id=b', ['b4', 'b2'], null],
      ['one page, with a link to the next', '?limit=2', ['a5', 'b4'], `<${BASE}?limit=2&before=2026-11-20T10%3A00%3A00.004Z>; rel="next"`],
      [
        'those before a time',
        '?limit=3&before=2026-11-20T10:00:00.003Z',
        ['b2', 'a1', 'a0'],
        `<${BASE}?limit=3&before=2026-11-20T10%3A00%3A00.000Z>; rel="next"`,
      ],
      ['those before a time of another zone', '?before=2026-11-20T12:00:00.001%2B02:00', ['a0'], null],
      ['none of a pipeline that has none', '?pipeline_id=unknown', [], null],
    ] as const
  ).map(([what, query, names, link]) => ({
    name: `shows ${what}`,
    given: some,
    request: ['GET', `${BASE}${query}`] as const,
    status: 200,
    headers: { link },
    after: (_api: TestApi, _response: Response, text: string) => expect(namesIn(text)).toEqual(names),
  }))
  testRows([
    ...rows,
    {
      name: 'has the fields of a record',
      given: some,
      request: ['GET', `${BASE}?limit=1`],
      status: 200,
      contains: [
        '[{"file":"a_20261120T100000005Z.jpg","pipeline_id":"a","created_at":"2026-11-20T10:00:00.005Z","size_bytes":4,"width":2,"height":2,"geolocation":null,"url":"/svc/files/screenshots/a_20261120T100000005Z.jpg"}]',
      ],
    },
    ...[
      'limit=0',
      'limit=1001',
      'limit=x',
      'limit=1.5',
      'before=yesterday',
      'before=2026-13-01T00:00:00Z',
      'before=1',
      'pipeline_id=a.b',
      'pipeline_id=',
      'limit=1&limit=2',
    ].map((query) => ({
      name: `refuses ?${query}`,
      request: ['GET', `${BASE}?${query}`] as const,
      status: 400,
      contains: ['VALIDATION_ERROR'],
    })),
  ])
})

describe('a screenshot file', () => {
  testRows([
    {
      name: 'is downloaded',
      given: some,
      request: ['GET', `${BASE}/${NAME}`],
      status: 200,
      headers: {
        'content-type': 'image/jpeg',
        'content-length': '4',
        etag: '"5"',
        'last-modified': 'Fri, 20 Nov 2026 10:00:00 GMT',
        'x-content-type-options': 'nosniff',
        'x-secret': null,
        age: null,
      },
      after: async (_api, response) => expect(new Uint8Array(await response.arrayBuffer())).toEqual(Uint8Array.of(0xff, 0xd8, 0xff, 0xd9)),
    },
    {
      name: 'is not sent again to a client that has it',
      given: some,
      request: ['GET', `${BASE}/${NAME}`, undefined, { 'if-none-match': '"5"' }],
      status: 304,
    },
    {
      name: 'is sent to a client that has another file',
      given: some,
      request: ['GET', `${BASE}/${NAME}`, undefined, { 'if-none-match': '"6"' }],
      status: 200,
    },
    {
      name: 'is not sent for If-None-Match: *',
      given: some,
      request: ['GET', `${BASE}/${NAME}`, undefined, { 'if-none-match': '*' }],
      status: 304,
    },
    {
      name: 'answers HEAD',
      given: some,
      request: ['HEAD', `${BASE}/${NAME}`],
      status: 200,
      headers: { 'content-length': '4', etag: '"5"' },
    },
    { name: 'answers 404 for a file that is not there', request: ['GET', `${BASE}/${NAME}`], status: 404, contains: ['NOT_FOUND'] },
    {
      name: 'is deleted',
      given: some,
      request: ['DELETE', `${BASE}/${NAME}`],
      status: 204,
      after: (api) => expect(api.screenshots.files).toHaveLength(5),
    },
    { name: 'cannot be deleted twice', request: ['DELETE', `${BASE}/${NAME}`], status: 404 },
    { name: 'knows no PUT', request: ['PUT', `${BASE}/${NAME}`, {}], status: 405, headers: { allow: 'GET, HEAD, DELETE' } },
  ])

  const outside = [
    ['%2e%2e', [404]],
    ['..%2f..%2fservice.db', [404]],
    ['%2fetc%2fpasswd', [404]],
    ['..%5c..%5cservice.db', [404]],
    [`${NAME}%00.txt`, [404]],
    [`${NAME}%2f..%2f..%2fservice.db`, [404]],
    ['%252e%252e%252fservice.db', [404]],
    ['x'.repeat(4000), [404]],
    ['nothing.jpg', [404]],
    ['%', [400]],
    ['%ff%fe', [400]],
    ['%C2%AE_20261120T100000000Z.jpg', [404]],
  ] as const
  it.each(outside)('is not found outside the folder: %s', async (path, statuses) => {
    await using api = await createTestApi()
    await some(api)
    for (const method of ['GET', 'HEAD', 'DELETE']) {
      const response = await api.send(method, `${BASE}/${path}`)
      expect(statuses).toContain(response.status)
    }
    expect(api.screenshots.files).toHaveLength(6)
  })
})

describe('the files of a pipeline', () => {
  testRows([
    {
      name: 'are deleted and counted',
      given: some,
      request: ['DELETE', `${BASE}?pipeline_id=a`],
      status: 200,
      contains: ['{"deleted":4}'],
      after: (api) => expect(api.screenshots.files).toHaveLength(2),
    },
    { name: 'may be none', given: some, request: ['DELETE', `${BASE}?pipeline_id=c`], status: 200, contains: ['{"deleted":0}'] },
    {
      name: 'are not deleted without its id',
      given: some,
      request: ['DELETE', BASE],
      status: 400,
      contains: ['"path":"pipeline_id"'],
      after: (api) => expect(api.screenshots.files).toHaveLength(6),
    },
    { name: 'are not deleted with an id that cannot be one', given: some, request: ['DELETE', `${BASE}?pipeline_id=a%2fb`], status: 400 },
  ])
})

describe('the deletion of files', () => {
  it.each([
    ['one file', 60, (at: number) => `${BASE}/a_20261120T1000${String(at % 60).padStart(2, '0')}000Z.jpg`],
    ['the files of a pipeline', 10, (at: number) => `${BASE}?pipeline_id=p${at}`],
  ] as const)('of %s is bounded to %i a minute', async (_what, limit, path) => {
    await using api = await createTestApi()
    for (let at = 0; at < limit; at += 1) expect((await api.send('DELETE', path(at))).status).not.toBe(429)
    const refused = await api.send('DELETE', path(limit))
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '60'])
    expect((await api.send('GET', BASE)).status).toBe(200)
    api.time += 60_000
    expect((await api.send('DELETE', path(limit))).status).not.toBe(429)
  })
})
