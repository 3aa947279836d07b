import { describe, expect, it } from 'vitest'
import type { ScreenshotFile } from '../../../lib/schema/screenshot.ts'
import { openApi, START, type TestApi } from '../../helpers/api/api.ts'
import { row, testRows, testRowsOnAllHosts } from '../../helpers/api/rows.ts'

const BASE = '/svc/files/screenshots'
const FILE = `${BASE}/a_20261120T100000000Z.jpg`

const fileOf = (pipeline_id: string, at: number): ScreenshotFile => {
  const created_at = new Date(START + at).toISOString()
  const file = `${pipeline_id}_${created_at.replace(/[-:.]/g, '')}.jpg`
  return { file, pipeline_id, created_at, size_bytes: 4, width: 2, height: 2, geolocation: null }
}
/** Newest first. */
const given = (api: TestApi) =>
  api.screenshots.files.push(...['a5', 'b4', 'a3', 'b2', 'a1', 'a0'].map((text) => fileOf(text.charAt(0), Number(text.charAt(1)))))
const left = (count: number) => (api: TestApi) => expect(api.screenshots.files).toHaveLength(count)

describe('the list of screenshot files', () => {
  const shows = (name: string, query: string, expected: string, link: string | null = null) =>
    row(`shows ${name}`, `GET ${BASE}${query}`, 200, {
      given,
      headers: { link: link === null ? null : `<${BASE}?${link}>; rel="next"` },
      after: (_api, _response, text) => {
        const names = (JSON.parse(text) as { file: string }[]).map(({ file }) => file.charAt(0) + file.slice(-6, -5))
        expect(names.join(' ')).toBe(expected)
      },
    })
  testRowsOnAllHosts([
    shows('all, the newest first', '', 'a5 b4 a3 b2 a1 a0'),
    shows('one page, with a link to the next', '?limit=2', 'a5 b4', 'limit=2&before=2026-11-20T10%3A00%3A00.004Z'),
    shows('those before a time of another zone', '?before=2026-11-20T12:00:00.001%2B02:00', 'a0'),
  ])
  testRows([
    shows('those of a pipeline', '?pipeline_id=b', 'b4 b2'),
    shows('those before a time', '?limit=3&before=2026-11-20T10:00:00.003Z', 'b2 a1 a0', 'limit=3&before=2026-11-20T10%3A00%3A00.000Z'),
    shows('none of a pipeline that has none', '?pipeline_id=unknown', ''),
    row('has the fields of a record', `GET ${BASE}?limit=1`, 200, {
      given,
      after: (_api, _response, text) => expect(JSON.parse(text)).toEqual([{ ...fileOf('a', 5), url: `${BASE}/a_20261120T100000005Z.jpg` }]),
    }),
    ...['limit=0', 'limit=1001', 'limit=1.5', 'before=yesterday', 'before=2026-13-01T00:00:00Z', 'pipeline_id=a.b'].map((query) =>
      row(`refuses ?${query}`, `GET ${BASE}?${query}`, 400, query.split('=')[0]),
    ),
  ])
})

describe('a screenshot file', () => {
  const unlessKnown = (name: string, tag: string, status: number) =>
    row(name, [`GET ${FILE}`, undefined, { 'if-none-match': tag }], status, { given })
  testRowsOnAllHosts([
    row('is downloaded', `GET ${FILE}`, 200, {
      given,
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
    }),
    unlessKnown('is not sent again to a client that has it', '"5"', 304),
    row('answers HEAD', `HEAD ${FILE}`, 200, { given, headers: { 'content-length': '4', etag: '"5"' } }),
    row('answers 404 when it is not there', `GET ${FILE}`, 404, 'NOT_FOUND'),
    row('is deleted', `DELETE ${FILE}`, 204, { given, after: left(5) }),
  ])
  testRows([
    unlessKnown('is sent to a client that has another file', '"6"', 200),
    unlessKnown('is not sent for If-None-Match: *', '*', 304),
    row('cannot be deleted twice', `DELETE ${FILE}`, 404),
  ])

  it('is not found outside the folder', async () => {
    const api = await openApi(given)
    const escapes = ['%2e%2e', '..%2f..%2fservice.db', '%2fetc%2fpasswd', '..%5cservice.db', 'a.jpg%00.txt', '%252e%252e%252fservice.db']
    for (const path of [...escapes, 'x'.repeat(4000), '%C2%AE_20261120T100000000Z.jpg', '%', '%ff%fe']) {
      for (const method of ['GET', 'HEAD', 'DELETE']) {
        const { status } = await api.send(method, `${BASE}/${path}`)
        expect([method, path, status]).toEqual([method, path, /^%(ff|$)/.test(path) ? 400 : 404])
      }
    }
    left(6)(api)
  })
})

describe('the files of a pipeline', () => {
  testRowsOnAllHosts([row('are deleted and counted', `DELETE ${BASE}?pipeline_id=a`, 200, '{"deleted":4}', { given, after: left(2) })])
  testRows([
    row('may be none', `DELETE ${BASE}?pipeline_id=c`, 200, '{"deleted":0}', { given }),
    row('are not deleted without its id', `DELETE ${BASE}`, 400, '"path":"pipeline_id"', { given, after: left(6) }),
    row('are not deleted with an id that cannot be one', `DELETE ${BASE}?pipeline_id=a%2fb`, 400, { given }),
  ])
})

describe('the deletion of files', () => {
  it.each([
    ['one file', 60, (at: number) => `${BASE}/a_20261120T1000${String(at % 60).padStart(2, '0')}000Z.jpg`],
    ['the files of a pipeline', 10, (at: number) => `${BASE}?pipeline_id=p${at}`],
  ] as const)('of %s is bounded to %i a minute', async (_what, limit, path) => {
    const api = await openApi()
    for (let at = 0; at < limit; at += 1) expect((await api.send('DELETE', path(at))).status).not.toBe(429)
    const refused = await api.send('DELETE', path(limit))
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '60'])
    expect((await api.send('GET', BASE)).status).toBe(200)
    api.time += 60_000
    expect((await api.send('DELETE', path(limit))).status).not.toBe(429)
  })
})
