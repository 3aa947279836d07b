import { describe, expect, it } from 'vitest'
import { advanced, createTestApi, simple, type TestApi } from '../helpers/api/api.ts'
import { type ApiRow, testRows } from './api-rows.ts'

const PATH = '/svc/pipeline/cam-1'
const given = (api: TestApi) => api.given(simple('cam-1', { on_demand: true }))
const replacement = simple('cam-1', { on_demand: true, source: { uri: 'rtsp://10.0.0.6/other' } })
const GEOLOCATION = { geolocation: { latitude: 60, longitude: 24 } }

const etagAt = async (api: TestApi, path = PATH): Promise<string> => {
  const etag = (await api.send('GET', path)).headers.get('etag')
  expect(etag).toMatch(/^"[^"]+"$/)
  return etag ?? ''
}

const OTHER = '"0123456789abcdef"'

const refusals = (['PUT', 'PATCH', 'DELETE'] as const).flatMap((method): ApiRow[] =>
  [OTHER, `${OTHER}, "another"`, 'W/"x"', 'unquoted'].map((tag) => ({
    name: `refuses ${method} with If-Match: ${tag}`,
    given,
    request: [method, PATH, method === 'PUT' ? replacement : method === 'PATCH' ? GEOLOCATION : undefined, { 'if-match': tag }],
    status: 412,
    contains: ['"code":"PRECONDITION_FAILED"', '"reason":"changed"'],
    after: async (api) => {
      expect(await (await api.send('GET', PATH)).json()).toMatchObject({ source: { uri: 'rtsp://10.0.0.5/stream' }, geolocation: null })
    },
  })),
)

testRows([
  ...refusals,
  {
    name: 'takes If-Match: * for any pipeline',
    given,
    request: ['PATCH', PATH, GEOLOCATION, { 'if-match': '*' }],
    status: 200,
  },
  {
    name: 'answers 404 for an unknown pipeline, whatever If-Match says',
    request: ['PUT', PATH, replacement, { 'if-match': OTHER }],
    status: 404,
  },
  {
    name: 'checks If-Match before the body and before whether the pipeline runs',
    given: (api) => api.given(simple('cam-1')),
    request: ['PUT', PATH, { nonsense: true }, { 'if-match': OTHER }],
    status: 412,
  },
  {
    name: 'refuses a change of the settings with another If-Match',
    request: ['PUT', '/svc/settings', { start_timeout_seconds: 20 }, { 'if-match': OTHER }],
    status: 412,
    contains: ['PRECONDITION_FAILED'],
    after: async (api) => expect(await (await api.send('GET', '/svc/settings')).json()).toMatchObject({ start_timeout_seconds: 10 }),
  },
  {
    name: 'gives the same ETag with every answer about an unchanged pipeline',
    given,
    request: ['GET', PATH],
    status: 200,
    after: async (api, response) => {
      const etag = response.headers.get('etag')
      expect(etag).not.toBeNull()
      for (const [method, path] of [
        ['PUT', `${PATH}/play`],
        ['GET', PATH],
        ['GET', `${PATH}/status`],
        ['HEAD', PATH],
        ['PUT', `${PATH}/stop`],
        ['GET', PATH],
      ] as const) {
        expect([method, path, (await api.send(method, path)).headers.get('etag')]).toEqual([method, path, etag])
      }
    },
  },
  {
    name: 'answers play and stop with a geolocation that came meanwhile, and its ETag',
    inProcess: true,
    given,
    request: ['GET', PATH],
    status: 200,
    after: async (api) => {
      for (const [what, latitude] of [
        ['play', 1],
        ['stop', 2],
      ] as const) {
        const { [what]: run } = api.deps.engine
        const patched = api.deps.pipelines.setGeolocation
        Object.assign(api.deps.engine, {
          [what]: async (...args: Parameters<typeof run>) => {
            await patched('cam-1', { latitude, longitude: 24, altitude: null, heading: null }, api.time)
            return (run as (...given: unknown[]) => unknown)(...args)
          },
        })
        const answer = await api.send('PUT', `${PATH}/${what}`)
        Object.assign(api.deps.engine, { [what]: run })
        expect([what, await answer.json()]).toMatchObject([what, { geolocation: { latitude } }])
        expect(answer.headers.get('etag')).toBe(await etagAt(api))
      }
    },
  },
  {
    name: 'gives another ETag after a replacement and after a change of the geolocation, and takes it for the next change',
    given,
    request: ['GET', PATH],
    status: 200,
    after: async (api, response) => {
      const tags = [response.headers.get('etag') ?? '']
      for (const [method, body] of [
        ['PUT', replacement],
        ['PUT', { ...replacement, encoding: { codec: 'h264' } }],
        ['PUT', { ...replacement, source: { uri: 'rtsp://bob:one@10.0.0.6/other' } }],
        // Answers mask both, and the ETag differs all the same.
        ['PUT', { ...replacement, source: { uri: 'rtsp://bob:two@10.0.0.6/other' } }],
        ['PATCH', GEOLOCATION],
        ['PATCH', { geolocation: null }],
      ] as const) {
        const changed = await api.send(method, PATH, body, { 'if-match': tags.at(-1) ?? '' })
        expect(changed.status).toBe(200)
        tags.push(changed.headers.get('etag') ?? '')
        expect(await etagAt(api)).toBe(tags.at(-1))
      }
      expect(new Set(tags).size).toBe(tags.length)
      expect((await api.send('DELETE', PATH, undefined, { 'if-match': tags.at(-2) ?? '' })).status).toBe(412)
      expect((await api.send('DELETE', PATH, undefined, { 'if-match': `"x", ${tags.at(-1)}` })).status).toBe(204)
    },
  },
  {
    name: 'gives the ETag of a new pipeline with its creation',
    request: ['POST', '/svc/pipeline', advanced('cam-1')],
    status: 201,
    after: async (api, response) => expect(await etagAt(api)).toBe(response.headers.get('etag')),
  },
  {
    name: 'gives the settings an ETag that changes with them',
    request: ['GET', '/svc/settings'],
    status: 200,
    after: async (api, response) => {
      const before = response.headers.get('etag') ?? ''
      const changed = await api.send('PUT', '/svc/settings', { start_timeout_seconds: 20 }, { 'if-match': before })
      expect([changed.status, changed.headers.get('etag')]).not.toEqual([200, before])
      expect(await etagAt(api, '/svc/settings')).toBe(changed.headers.get('etag'))
      expect((await api.send('PUT', '/svc/settings', { start_timeout_seconds: 30 }, { 'if-match': before })).status).toBe(412)
      const back = await api.send('PUT', '/svc/settings', { start_timeout_seconds: 10 }, { 'if-match': changed.headers.get('etag') ?? '' })
      expect([back.status, back.headers.get('etag')]).toEqual([200, before])
    },
  },
  {
    name: 'gives the settings another ETag with another password of readers, which no answer shows',
    given: (api) => api.send('PUT', '/svc/settings', { readers: { password: 'correct horse' } }),
    request: ['PUT', '/svc/settings', { readers: { password: 'battery staple' } }],
    status: 200,
    after: async (api, response) => {
      const etag = await etagAt(api, '/svc/settings')
      expect(etag).toBe(response.headers.get('etag'))
      const change = (password: string) => api.send('PUT', '/svc/settings', { readers: { password } }, { 'if-match': etag })
      const statuses = [(await change('***')).status, (await change('kestrel kestrel')).status, (await change('battery staple')).status]
      expect(statuses).toEqual([200, 200, 412])
    },
  },
])

describe('writers that read the same ETag', () => {
  it('of a pipeline: exactly one of them changes it', async () => {
    await using api = await createTestApi()
    await given(api)
    const headers = { 'if-match': await etagAt(api) }
    const answers = await Promise.all([
      ...Array.from({ length: 10 }, (_, at) =>
        api.send('PUT', PATH, { ...replacement, source: { uri: `rtsp://10.0.0.6/${at}` } }, headers),
      ),
      ...Array.from({ length: 10 }, (_, at) => api.send('PATCH', PATH, { geolocation: { latitude: at, longitude: at } }, headers)),
    ])
    expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array(19).fill(412)])
    const winner = answers.find(({ status }) => status === 200)
    expect(await (await api.send('GET', PATH)).json()).toEqual(await winner?.json())
  })

  it('of the settings: exactly one of them changes them', async () => {
    await using api = await createTestApi()
    const headers = { 'if-match': await etagAt(api, '/svc/settings') }
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, at) => api.send('PUT', '/svc/settings', { start_timeout_seconds: 20 + at }, headers)),
    )
    expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array(9).fill(412)])
  })
})
