import { once } from 'node:events'
import { connect } from 'node:net'
import { describe, expect, it } from 'vitest'
import { ApiError } from '../../lib/errors.ts'
import type { SimpleConfig } from '../../lib/schema/pipeline.ts'
import { advanced, createTestApi, simple, type TestApi } from '../helpers/api/api.ts'
import { fetchHost, nodeHost } from '../helpers/api/hosts.ts'
import { testRows } from './api-rows.ts'

const four = async (api: TestApi) => {
  for (const body of [simple('a'), simple('b', { on_demand: true }), advanced('c'), advanced('d', { on_demand: true })]) {
    await api.given(body)
    api.time += 1000
  }
}
const ids = (expected: string[]) => (_api: TestApi, _response: Response, text: string) =>
  expect(JSON.parse(text).map(({ id }: { id: string }) => id)).toEqual(expected)

const list = (query = '') => ['GET', `/svc/pipeline${query}`] as const

describe('listing pipelines', () => {
  testRows([
    { name: 'answers an empty array when there are none', request: list(), status: 200, contains: ['[]'] },
    { name: 'answers all, the oldest first', given: four, request: list(), status: 200, after: ids(['a', 'b', 'c', 'd']) },
    { name: 'filters by mode simple', given: four, request: list('?mode=simple'), status: 200, after: ids(['a', 'b']) },
    { name: 'filters by mode advanced', given: four, request: list('?mode=advanced'), status: 200, after: ids(['c', 'd']) },
    { name: 'filters by on_demand true', given: four, request: list('?on_demand=true'), status: 200, after: ids(['b', 'd']) },
    { name: 'filters by on_demand false', given: four, request: list('?on_demand=false'), status: 200, after: ids(['a', 'c']) },
    { name: 'filters by state playing', given: four, request: list('?state=playing'), status: 200, after: ids(['a', 'c']) },
    { name: 'filters by state ready', given: four, request: list('?state=ready'), status: 200, after: ids(['b', 'd']) },
    {
      name: 'combines all filters',
      given: four,
      request: list('?mode=simple&on_demand=true&state=ready'),
      status: 200,
      after: ids(['b']),
    },
    {
      name: 'answers an empty array when nothing matches',
      given: four,
      request: list('?state=playing&on_demand=true'),
      status: 200,
      contains: ['[]'],
    },
    {
      name: 'refuses unknown parameters',
      given: four,
      request: list('?mode=simple&_=123'),
      status: 400,
      contains: ['"path":"_"', 'mode, on_demand, state'],
    },
    { name: 'refuses an unknown mode', request: list('?mode=easy'), status: 400, contains: ['"path":"mode"'] },
    { name: 'refuses an empty mode', request: list('?mode='), status: 400, contains: ['"path":"mode"'] },
    { name: 'refuses an unknown on_demand', request: list('?on_demand=1'), status: 400, contains: ['"path":"on_demand"'] },
    { name: 'refuses an unknown state', request: list('?state=failed'), status: 400, contains: ['"path":"state"'] },
    { name: 'refuses a filter given twice', request: list('?state=ready&state=playing'), status: 400, contains: ['"path":"state"'] },
  ])

  it.each([fetchHost, nodeHost])('answers many in pieces, other requests between, on $name', async (host) => {
    await using api = await createTestApi(host)
    const given = await api.given(simple('first'))
    const record = await api.deps.pipelines.find('first')
    if (record === undefined) throw new Error('It was not stored')
    const names = Array.from({ length: 3000 }, (_, at) => `camera-${at}`)
    for (const [at, id] of names.entries()) {
      await api.deps.pipelines.insert({ ...record, config: { ...record.config, id }, created_at: record.created_at + 1 + at })
    }
    // A connection for each of the two below, so that neither request has to wait for one.
    await Promise.all(
      [api.send('GET', '/svc/pipeline/first'), api.send('GET', '/svc/pipeline/first')].map(async (answer) => (await answer).text()),
    )
    const order: string[] = []
    const note = async (name: string, response: Promise<Response>): Promise<string> => {
      const text = await (await response).text()
      order.push(name)
      return text
    }
    const [all] = await Promise.all([note('list', api.send('GET', '/svc/pipeline')), note('one', api.send('GET', '/svc/pipeline/first'))])
    expect(JSON.parse(all).map(({ id }: { id: string }) => id)).toEqual([given.id, ...names])
    expect(JSON.parse(all)[0]).toEqual(given)
    // Over a network the second request may come after the list was sent.
    if (host === fetchHost) expect(order).toEqual(['one', 'list'])
  })

  it('ends with a client that leaves in the middle of a long list', async () => {
    await using api = await createTestApi(nodeHost)
    await api.given(simple('first'))
    const record = await api.deps.pipelines.find('first')
    if (record === undefined) throw new Error('It was not stored')
    // More than the buffers of both ends hold.
    for (let at = 0; at < 4000; at += 1) {
      const raw_pipeline = `fakesrc name=x${'x'.repeat(4000)}`
      const { source, encoding, ...common } = record.config as SimpleConfig
      await api.deps.pipelines.insert({ ...record, config: { ...common, id: `camera-${at}`, mode: 'advanced', raw_pipeline } })
    }
    const leaving = connect(Number(new URL(api.origin).port), '127.0.0.1')
    leaving.write(`GET /svc/pipeline HTTP/1.1\r\nHost: ${new URL(api.origin).host}\r\n\r\n`)
    await once(leaving, 'data')
    leaving.destroy()
    const { status } = await api.send('GET', '/svc/pipeline/first')
    expect([status, api.logged.filter(({ level }) => level === 'error')]).toEqual([200, []])
  })

  it('calls the engine once for any number of pipelines', async () => {
    await using api = await createTestApi()
    await four(api)
    api.engine.calls.length = 0
    await api.send('GET', '/svc/pipeline')
    expect(api.engine.calls).toEqual(['list'])
  })
})

describe('reading one pipeline', () => {
  testRows([
    { name: 'answers it', given: four, request: ['GET', '/svc/pipeline/a'], status: 200, contains: ['"id":"a"', '"state":"playing"'] },
    { name: 'answers 404 for an unknown id', request: ['GET', '/svc/pipeline/nobody'], status: 404, contains: ['"code":"NOT_FOUND"'] },
    {
      name: 'answers 400 for an id outside the pattern',
      request: ['GET', '/svc/pipeline/a.b'],
      status: 400,
      contains: ['VALIDATION_ERROR'],
    },
    {
      name: 'decodes the id before validation',
      given: four,
      request: ['GET', '/svc/pipeline/%61'],
      status: 200,
      contains: ['"id":"a"'],
    },
    { name: 'answers 400 for an encoded slash in the id', request: ['GET', '/svc/pipeline/a%2Fb'], status: 400 },
    {
      name: 'answers 400 for invalid percent-encoding',
      request: ['GET', '/svc/pipeline/%E0%A4%A'],
      status: 400,
      contains: ['VALIDATION_ERROR'],
    },
    { name: 'answers 400 for an id of 65 characters', request: ['GET', `/svc/pipeline/${'a'.repeat(65)}`], status: 400 },
  ])

  it('answers /status exactly as the pipeline itself', async () => {
    await using api = await createTestApi()
    await four(api)
    const [one, status] = await Promise.all(
      ['/svc/pipeline/a', '/svc/pipeline/a/status'].map(async (path) => (await api.send('GET', path)).text()),
    )
    expect(status).toBe(one)
    expect((await api.send('GET', '/svc/pipeline/nobody/status')).status).toBe(404)
  })

  it('shows a pipeline that the engine does not know as ready', async () => {
    await using api = await createTestApi()
    await four(api)
    api.engine.restart()
    const one = await (await api.send('GET', '/svc/pipeline/a')).json()
    expect(one).toMatchObject({ state: 'ready', runtime: { phase: 'idle' } })
    const all = await (await api.send('GET', '/svc/pipeline')).json()
    expect(all).toHaveLength(4)
  })
})

describe('the log of a pipeline', () => {
  const line = { at: '2026-11-20T10:00:00.000Z', run: 1, stream: 'stderr', line: 'ERROR: could not open rtsp://bob:pw@h/' } as const
  testRows([
    {
      name: 'is answered with credentials masked',
      given: async (api) => {
        await four(api)
        api.engine.logLines = [line]
      },
      request: ['GET', '/svc/pipeline/a/log'],
      status: 200,
      lacks: ['bob'],
      after: (_api, _response, text) => expect(JSON.parse(text)).toEqual([{ ...line, line: 'ERROR: could not open rtsp://***@h/' }]),
    },
    {
      name: 'is empty when the engine does not know the pipeline',
      given: async (api) => {
        await four(api)
        api.engine.restart()
      },
      request: ['GET', '/svc/pipeline/a/log'],
      status: 200,
      contains: ['[]'],
    },
    { name: 'is 404 for an unknown id', request: ['GET', '/svc/pipeline/nobody/log'], status: 404 },
  ])
})

const unreachable = async (api: TestApi) => {
  await four(api)
  api.engine.reachable = false
}

describe('while the engine is gone', () => {
  testRows(
    (
      [
        ['GET', '/svc/pipeline'],
        ['GET', '/svc/pipeline/a'],
        ['GET', '/svc/pipeline/a/status'],
        ['GET', '/svc/pipeline/a/log'],
        ['POST', '/svc/pipeline', simple('new')],
        ['POST', '/svc/pipeline/validate', simple('new')],
        ['PUT', '/svc/pipeline/b', simple('b')],
        ['PATCH', '/svc/pipeline/a', { geolocation: { latitude: 1, longitude: 2 } }],
        ['DELETE', '/svc/pipeline/b'],
        ['PUT', '/svc/pipeline/b/play'],
        ['PUT', '/svc/pipeline/a/stop'],
        ['PUT', '/svc/settings', { start_timeout_seconds: 5 }],
      ] as const
    ).map((request) => ({
      name: `${request[0]} ${request[1]} answers 503 with Retry-After and changes nothing`,
      given: unreachable,
      request,
      status: 503,
      contains: ['"code":"SERVICE_UNAVAILABLE"'],
      headers: { 'retry-after': '1' },
      after: async (api) => {
        const records = await api.deps.pipelines.list()
        expect(records.map(({ config }) => config.id)).toEqual(['a', 'b', 'c', 'd'])
        expect(records.map(({ geolocation }) => geolocation)).toEqual([null, null, null, null])
        expect(await api.deps.settings.read()).toEqual({})
      },
    })),
  )
  testRows([
    {
      name: 'an unknown pipeline is still 404',
      given: unreachable,
      request: ['PUT', '/svc/pipeline/nobody/play'],
      status: 404,
    },
  ])
})

describe('a database that does not answer', () => {
  it.each([fetchHost, nodeHost])('is asked once for each read, over $name, and its fault is logged once', async (host) => {
    await using api = await createTestApi(host)
    await api.given(simple('a'))
    let asked = 0
    api.deps.credentials.find = async () => {
      asked += 1
      throw new ApiError('SERVICE_UNAVAILABLE', 'The database does not answer. Try again in a moment.', { reason: 'database' })
    }
    for (const path of ['/svc/pipeline', '/svc/pipeline/a']) {
      const response = await api.send('GET', path)
      expect([response.status, await response.json()]).toMatchObject([503, { details: { reason: 'database' } }])
    }
    expect(asked).toBe(2)
    const logged = api.logged.filter(({ event }) => event === 'database_failed')
    expect(logged.map(({ fields }) => fields.path)).toEqual(['/svc/pipeline', '/svc/pipeline/a'])
  })
})
