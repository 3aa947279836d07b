import { describe, expect, it } from 'vitest'
import { openApi, simple, type TestApi } from '../../helpers/api/api.ts'
import { row, testRows, testRowsOnAllHosts } from '../../helpers/api/rows.ts'

const PATH = '/svc/pipeline/cam-1'
const playing = (api: TestApi) => api.given(simple('cam-1'))
const ready = (api: TestApi) => api.given(simple('cam-1', { on_demand: true }))
const read = async (api: TestApi) => (await api.read(PATH)) as Record<string, unknown>

const OTHER = '"0123456789abcdef"'
const GEOLOCATION = { geolocation: { latitude: 60, longitude: 24 } }
const REPLACEMENT = simple('cam-1', { on_demand: true, source: { uri: 'rtsp://10.0.0.6/other' } })

const etagAt = async (api: TestApi, path = PATH): Promise<string> => {
  const etag = (await api.send('GET', path)).headers.get('etag')
  expect(etag).toMatch(/^"[^"]+"$/)
  return etag ?? ''
}

describe('preconditions', () => {
  const refuses = (line: string, body: unknown, tag: string) =>
    row(`refuse ${line.split(' ')[0]} with If-Match: ${tag}`, [line, body, { 'if-match': tag }], 412, '"reason":"changed"', {
      given: ready,
      after: async (api) => expect(await read(api)).toMatchObject({ source: { uri: 'rtsp://10.0.0.5/stream' }, geolocation: null }),
    })
  testRowsOnAllHosts([
    refuses(`PUT ${PATH}`, REPLACEMENT, OTHER),
    refuses(`PATCH ${PATH}`, GEOLOCATION, `${OTHER}, "another"`),
    refuses(`DELETE ${PATH}`, undefined, 'W/"x"'),
    row('let If-Match: * pass for any pipeline', [`PATCH ${PATH}`, GEOLOCATION, { 'if-match': '*' }], 200, { given: ready }),
  ])
  testRows([
    row('do not hide that a pipeline is unknown', [`PUT ${PATH}`, REPLACEMENT, { 'if-match': OTHER }], 404),
    row('come before the body and before whether it runs', [`PUT ${PATH}`, { nonsense: true }, { 'if-match': OTHER }], 412, {
      given: playing,
    }),
    row('hold for the settings too', ['PUT /svc/settings', { start_timeout_seconds: 20 }, { 'if-match': OTHER }], 412, {
      after: async (api) => expect(await api.read('/svc/settings')).toMatchObject({ start_timeout_seconds: 10 }),
    }),
  ])
})

describe('the ETag', () => {
  it('of a pipeline is the same in every answer while it is unchanged', async () => {
    const api = await openApi()
    const created = await api.send('POST', '/svc/pipeline', simple('cam-1', { on_demand: true }))
    const etag = created.headers.get('etag')
    expect(await etagAt(api)).toBe(etag)
    for (const [method, path] of [
      ['PUT', '/play'],
      ['GET', ''],
      ['GET', '/status'],
      ['HEAD', ''],
      ['PUT', '/stop'],
    ] as const)
      expect([method, path, (await api.send(method, PATH + path)).headers.get('etag')]).toEqual([method, path, etag])
  })

  it.each(['play', 'stop'] as const)('of the answer to %s takes a geolocation into account that came meanwhile', async (action) => {
    const api = await openApi(ready)
    const run = api.deps.engine[action] as (...args: unknown[]) => unknown
    Object.assign(api.deps.engine, {
      [action]: async (...args: unknown[]) => {
        await api.deps.pipelines.setGeolocation('cam-1', { latitude: 1, longitude: 24, altitude: null, heading: null }, api.time + 1)
        return run(...args)
      },
    })
    const answer = await api.send('PUT', `${PATH}/${action}`)
    expect(await answer.json()).toMatchObject({ geolocation: { latitude: 1 } })
    expect(answer.headers.get('etag')).toBe(await etagAt(api))
  })

  it('is the same after a PUT or PATCH that changes nothing, and after a position from KLV', async () => {
    const api = await openApi(ready)
    const [etag, { updated_at }] = [await etagAt(api), await read(api)]
    const position = { latitude: 1, longitude: 24, altitude: null, heading: null }
    for (const change of [
      () => api.send('PUT', PATH, simple('cam-1', { on_demand: true })),
      () => api.send('PATCH', PATH, { geolocation: null }),
      () => api.deps.pipelines.setGeolocation('cam-1', position, Date.parse(String(updated_at))),
      () => api.send('PATCH', PATH, { geolocation: position }),
    ]) {
      api.time += 1000
      await change()
      expect([await etagAt(api), (await read(api)).updated_at]).toEqual([etag, updated_at])
    }
  })

  it('is another one after each change, and is taken for the next', async () => {
    const api = await openApi(ready)
    const tags = [await etagAt(api)]
    for (const [method, body] of [
      ['PUT', REPLACEMENT],
      ['PUT', { ...REPLACEMENT, encoding: { codec: 'h264' } }],
      ['PUT', { ...REPLACEMENT, source: { uri: 'rtsp://bob:one@10.0.0.6/other' } }],
      // Answers mask both, and the ETag differs all the same.
      ['PUT', { ...REPLACEMENT, source: { uri: 'rtsp://bob:two@10.0.0.6/other' } }],
      ['PATCH', GEOLOCATION],
      ['PATCH', { geolocation: null }],
    ] as const) {
      const changed = await api.send(method, PATH, body, { 'if-match': tags.at(-1) ?? '' })
      expect(changed.status).toBe(200)
      tags.push(changed.headers.get('etag') ?? '')
      expect(await etagAt(api)).toBe(tags.at(-1))
    }
    expect(new Set(tags).size).toBe(tags.length)
    for (const old of [tags.at(-2), `W/${tags.at(-1)}`])
      expect((await api.send('DELETE', PATH, undefined, { 'if-match': old ?? '' })).status).toBe(412)
    expect((await api.send('DELETE', PATH, undefined, { 'if-match': `"x", ${tags.at(-1)}` })).status).toBe(204)
  })

  it('of the settings changes with them, and with the password of readers, which no answer shows', async () => {
    const api = await openApi()
    const change = async (body: unknown, etag: string) => {
      const { status, headers } = await api.send('PUT', '/svc/settings', body, { 'if-match': etag })
      return [status, headers.get('etag') ?? ''] as const
    }
    const before = await etagAt(api, '/svc/settings')
    const [, changed] = await change({ start_timeout_seconds: 20 }, before)
    expect([changed, changed === before]).toEqual([await etagAt(api, '/svc/settings'), false])
    expect((await change({ start_timeout_seconds: 30 }, before))[0]).toBe(412)
    expect(await change({ start_timeout_seconds: 10 }, changed)).toEqual([200, before])

    const [, first] = await change({ readers: { password: 'correct horse' } }, before)
    const [, second] = await change({ readers: { password: 'battery staple' } }, first)
    expect(second).not.toBe(first)
    expect((await change({ readers: { password: '***' } }, second))[0]).toBe(200)
    expect((await change({ readers: { password: 'kestrel kestrel' } }, second))[0]).toBe(200)
    expect((await change({ readers: { password: 'battery staple' } }, second))[0]).toBe(412)
  })

  it('lets one of many writers that read the same change a pipeline, or the settings', async () => {
    const api = await openApi(ready)
    const headers = { 'if-match': await etagAt(api) }
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, at) =>
        at % 2 === 0
          ? api.send('PUT', PATH, { ...REPLACEMENT, source: { uri: `rtsp://10.0.0.6/${at}` } }, headers)
          : api.send('PATCH', PATH, { geolocation: { latitude: at, longitude: at } }, headers),
      ),
    )
    expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array(19).fill(412)])
    expect(await read(api)).toEqual(await answers.find(({ status }) => status === 200)?.json())
    const settings = { 'if-match': await etagAt(api, '/svc/settings') }
    const put = (at: number) => api.send('PUT', '/svc/settings', { start_timeout_seconds: 20 + at }, settings)
    expect((await Promise.all(Array.from({ length: 10 }, (_, at) => put(at)))).map(({ status }) => status).sort()).toEqual([
      200,
      ...Array(9).fill(412),
    ])
  })
})
