import { once } from 'node:events'
import { connect } from 'node:net'
import { describe, expect, it } from 'vitest'
import { ApiError } from '../../../lib/errors.ts'
import { advanced, createTestApi, openApi, simple, type TestApi } from '../../helpers/api/api.ts'
import { fetchHost, nodeHost } from '../../helpers/api/hosts.ts'
import { engineGone, engineReplaced, row, testRows, testRowsOnAllHosts } from '../../helpers/api/rows.ts'

const four = async (api: TestApi) => {
  for (const body of [simple('a'), simple('b', { on_demand: true }), advanced('c'), advanced('d', { on_demand: true })]) {
    await api.given(body)
    api.time += 1000
  }
}
const ids = (text: string) => (JSON.parse(text) as { id: string }[]).map(({ id }) => id)
const listed = (name: string, query: string, expected: readonly string[]) =>
  row(name, `GET /svc/pipeline${query}`, 200, {
    given: four,
    after: (_api, _response, text) => expect(ids(text)).toEqual(expected),
  })
const refused = (name: string, query: string, path: string) => row(name, `GET /svc/pipeline?${query}`, 400, `"path":"${path}"`)

/** Copies the first pipeline in the database. */
const storeMany = async (api: TestApi, names: readonly string[], more: object = {}) => {
  await api.given(simple('first'))
  const record = await api.deps.pipelines.find('first')
  if (record === undefined) throw new Error('It was not stored')
  for (const [at, id] of names.entries()) {
    await api.deps.pipelines.insert({ ...record, config: { ...record.config, ...more, id }, created_at: record.created_at + 1 + at })
  }
}

describe('listing pipelines', () => {
  testRowsOnAllHosts([
    row('answers an empty array when there are none', 'GET /svc/pipeline', 200, '[]'),
    listed('answers all, the oldest first', '', ['a', 'b', 'c', 'd']),
    listed('combines all filters', '?mode=simple&on_demand=true&state=ready', ['b']),
    row('refuses unknown parameters', 'GET /svc/pipeline?mode=simple&_=123', 400, ['"path":"_"', 'mode, on_demand, state']),
  ])
  testRows([
    listed('filters by mode', '?mode=advanced', ['c', 'd']),
    listed('filters by on_demand', '?on_demand=false', ['a', 'c']),
    listed('filters by state', '?state=playing', ['a', 'c']),
    listed('answers an empty array when nothing matches', '?state=playing&on_demand=true', []),
    refused('refuses an unknown mode', 'mode=easy', 'mode'),
    refused('refuses an empty mode', 'mode=', 'mode'),
    refused('refuses an unknown on_demand', 'on_demand=1', 'on_demand'),
    refused('refuses an unknown state', 'state=failed', 'state'),
    refused('refuses a filter given twice', 'state=ready&state=playing', 'state'),
  ])

  it.each([fetchHost, nodeHost])('answers many in pieces, other requests between, on $name', async (host) => {
    await using api = await createTestApi(host)
    const names = Array.from({ length: 3000 }, (_, at) => `camera-${at}`)
    await storeMany(api, names)
    const read = async (path: string) => (await api.send('GET', path)).text()
    // A connection for each of the two below, so that neither request has to wait for one.
    const [first] = await Promise.all([read('/svc/pipeline/first'), read('/svc/pipeline/first')])
    const order: string[] = []
    const note = async (path: string): Promise<string> => {
      const text = await read(path)
      order.push(path)
      return text
    }
    const [all] = await Promise.all([note('/svc/pipeline'), note('/svc/pipeline/first')])
    expect(ids(all)).toEqual(['first', ...names])
    expect(all.slice(1, 1 + first.length)).toBe(first)
    // Over a network the second request may come after the list was sent.
    if (host === fetchHost) expect(order).toEqual(['/svc/pipeline/first', '/svc/pipeline'])
  })

  it('ends with a client that leaves in the middle of a long list', async () => {
    await using api = await createTestApi(nodeHost)
    // More than the buffers of both ends hold.
    const names = Array.from({ length: 4000 }, (_, at) => `camera-${at}`)
    await storeMany(api, names, { source: { uri: `rtsp://10.0.0.5/${'x'.repeat(1900)}`, latency_ms: 0 } })
    const { host, port } = new URL(api.origin)
    const leaving = connect(Number(port), '127.0.0.1')
    leaving.write(`GET /svc/pipeline HTTP/1.1\r\nHost: ${host}\r\n\r\n`)
    await once(leaving, 'data')
    leaving.destroy()
    const { status } = await api.send('GET', '/svc/pipeline/first')
    expect([status, api.logged.filter(({ level }) => level === 'error')]).toEqual([200, []])
  })
})

describe('reading one pipeline', () => {
  testRowsOnAllHosts([
    row('answers it', 'GET /svc/pipeline/a', 200, ['"id":"a"', '"state":"playing"'], { given: four }),
    row('answers 404 for an unknown id', 'GET /svc/pipeline/nobody', 404, '"code":"NOT_FOUND"'),
    row('decodes the id before validation', 'GET /svc/pipeline/%61', 200, '"id":"a"', { given: four }),
    row('answers 400 for an encoded slash in the id', 'GET /svc/pipeline/a%2Fb', 400),
    row('answers 400 for invalid percent-encoding', 'GET /svc/pipeline/%E0%A4%A', 400, 'VALIDATION_ERROR'),
  ])
  testRows([
    row('answers 400 for an id outside the pattern', 'GET /svc/pipeline/a.b', 400, 'VALIDATION_ERROR'),
    row('shows a pipeline that the engine does not know as ready', 'GET /svc/pipeline/a', 200, ['"state":"ready"', '"phase":"idle"'], {
      given: engineReplaced(four),
    }),
    row('lists pipelines that the engine does not know', 'GET /svc/pipeline', 200, {
      given: engineReplaced(four),
      after: (_api, _response, text) => expect(ids(text)).toHaveLength(4),
    }),
  ])

  it('answers /status exactly as the pipeline itself, and a list with one call of the engine', async () => {
    const api = await openApi(four)
    const read = async (path: string) => (await api.send('GET', path)).text()
    expect(await read('/svc/pipeline/a/status')).toBe(await read('/svc/pipeline/a'))
    api.engine.calls.length = 0
    await read('/svc/pipeline')
    expect(api.engine.calls).toEqual(['list'])
  })
})

describe('the log of a pipeline', () => {
  const lines = ['could not open rtsp://bob:pw@h/', 'two', 'three'].map(
    (line, at) => ({ at: '2026-11-20T10:00:00.000Z', run: at + 1, stream: 'stderr', line }) as const,
  )
  const given = async (api: TestApi) => {
    await four(api)
    api.engine.logLines = lines
  }
  const shows = (name: string, query: string, expected: readonly string[]) =>
    row(name, `GET /svc/pipeline/a/log${query}`, 200, {
      given,
      lacks: ['bob'],
      after: (_api, _response, text) => expect((JSON.parse(text) as { line: string }[]).map(({ line }) => line)).toEqual(expected),
    })
  testRowsOnAllHosts([
    shows('has the lines of all runs, the oldest first, with credentials masked', '', ['could not open rtsp://***@h/', 'two', 'three']),
    row('is empty when the engine does not know the pipeline', 'GET /svc/pipeline/a/log', 200, '[]', { given: engineReplaced(four) }),
    row('is 404 for an unknown id', 'GET /svc/pipeline/nobody/log', 404),
  ])
  testRows([
    shows('has the newest lines up to a limit', '?limit=2', ['two', 'three']),
    shows('has all lines when the limit is beyond them', '?limit=1000', ['could not open rtsp://***@h/', 'two', 'three']),
    ...['limit=0', 'limit=1001', 'limit=1.5', 'limit=x', 'limit=', 'limit=1&limit=2'].map((query) =>
      row(`is refused with ?${query}`, `GET /svc/pipeline/a/log?${query}`, 400, 'limit', { given }),
    ),
    row('is refused for an id outside the pattern', 'GET /svc/pipeline/a.b/log', 400),
  ])
})

describe('the logs of all pipelines and the history of one', () => {
  const line = { at: '2026-11-20T10:00:00.000Z', run: 1, stream: 'engine', line: 'unreachable: rtsp://bob:pw@h/' } as const
  const sample = { at: line.at, fps: 25, bitrate_kbps: 900, readers: 1, last_frame_age_ms: null }
  const given = async (api: TestApi) => {
    await four(api)
    api.engine.logLines = [line]
    api.engine.samples = [sample]
  }
  const found = ['a', 'b', 'c', 'd'].map((pipeline_id) => ({ pipeline_id, ...line, line: 'unreachable: rtsp://***@h/' }))
  testRowsOnAllHosts([
    row('are found by a text, with credentials masked', 'GET /svc/log?search=unreach', 200, JSON.stringify(found), { given }),
    row('are the samples of the engine', 'GET /svc/pipeline/a/history', 200, JSON.stringify([sample]), { given }),
    row('are empty when the engine does not know the pipeline', 'GET /svc/pipeline/a/history', 200, '[]', { given: engineReplaced(four) }),
    row('are 404 for an unknown id', 'GET /svc/pipeline/nobody/history', 404),
  ])
  testRows([
    row('are limited', 'GET /svc/log?limit=1', 200, JSON.stringify(found.slice(-1)), { given }),
    ...[`search=${'x'.repeat(201)}`, 'stream=all', 'limit=0', 'level=1'].map((query) =>
      row(`are refused with ?${query.slice(0, 20)}`, `GET /svc/log?${query}`, 400, '', { given }),
    ),
  ])
})

describe('while the engine is gone', () => {
  const requests = [
    ...['GET /svc/pipeline', 'GET /svc/pipeline/a', 'GET /svc/pipeline/a/log'].map((line) => [line] as const),
    ...['DELETE /svc/pipeline/b', 'PUT /svc/pipeline/b/play', 'PUT /svc/pipeline/a/stop'].map((line) => [line] as const),
    ['POST /svc/pipeline/validate', simple('new')],
    ['PUT /svc/pipeline/b', simple('b')],
    ['PATCH /svc/pipeline/a', { geolocation: { latitude: 1, longitude: 2 } }],
    ['PUT /svc/settings', { start_timeout_seconds: 5 }],
  ] as const
  testRowsOnAllHosts([
    ...requests.map((request) =>
      row(`${request[0]} answers 503 with Retry-After and changes nothing`, request, 503, {
        given: engineGone(four),
        headers: { 'retry-after': '1' },
        after: async (api) => {
          const records = await api.deps.pipelines.list()
          expect(records.map(({ config, geolocation }) => [config.id, geolocation])).toEqual(['a', 'b', 'c', 'd'].map((id) => [id, null]))
          expect(await api.deps.settings.read()).toEqual({})
        },
      }),
    ),
    row('an unknown pipeline is still 404', 'PUT /svc/pipeline/nobody/play', 404, { given: engineGone(four) }),
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
    const paths = ['/svc/pipeline', '/svc/pipeline/a']
    for (const path of paths) {
      const response = await api.send('GET', path)
      expect([response.status, await response.json()]).toMatchObject([503, { details: { reason: 'database' } }])
    }
    const logged = api.logged.filter(({ event }) => event === 'database_failed')
    expect([asked, logged.map(({ fields }) => fields.path)]).toEqual([2, paths])
  })
})
