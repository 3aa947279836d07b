import { describe, expect, it } from 'vitest'
import { ApiError } from '../../lib/errors.ts'
import { DEFAULT_SETTINGS, type PartialSettings } from '../../lib/schema/settings.ts'
import { refusedFields } from '../../lib/settings/settings.ts'
import { openApi, type TestApi, useTestApi } from '../helpers/api/api.ts'
import { row, testRows, testRowsOnAllHosts } from '../helpers/api/rows.ts'

const PUT = 'PUT /svc/settings'
const put = (api: TestApi, body: unknown) => api.send('PUT', '/svc/settings', body)
const read = async (api: TestApi) => (await api.send('GET', '/svc/settings')).json()
const expectDefaults = (_api: TestApi, _response: Response, text: string) => expect(JSON.parse(text)).toEqual(DEFAULT_SETTINGS)

/** The bounds of numbers are tested against the API document. */
const REFUSED: readonly (readonly [body: object, path: string])[] = [
  [{ start_timeout_seconds: 1.5 }, 'start_timeout_seconds'],
  [{ start_timeout_seconds: null }, 'start_timeout_seconds'],
  [{ reconnect: 5 }, 'reconnect'],
  [{ on_demand: { start_on_read: 'yes' } }, 'on_demand.start_on_read'],
  [{ encoder: { preference: 'gpu' } }, 'encoder.preference'],
  [{ advanced: { enabled: 1 } }, 'advanced.enabled'],
  [{ advanced: { denied_elements: 'filesrc' } }, 'advanced.denied_elements'],
  [{ advanced: { denied_elements: ['file src'] } }, 'advanced.denied_elements.0'],
  [{ readers: { authentication: 'digest' } }, 'readers.authentication'],
  [{ readers: { username: '' } }, 'readers.username'],
  [{ readers: { username: 'a"b' } }, 'readers.username'],
  [{ readers: { username: 'x'.repeat(65) } }, 'readers.username'],
  [{ readers: { password: 'seven77' } }, 'readers.password'],
  [{ readers: { password: 'x'.repeat(129) } }, 'readers.password'],
  [{ readers: { password: 'with\tTab' } }, 'readers.password'],
  [{ readers: { password: '🎥🎥🎥🎥' } }, 'readers.password'],
  [{ readers: { password: 12345678 } }, 'readers.password'],
  [{ readers: { password: '***' } }, 'readers.password'],
  [{ readers: { authentication: 'password' } }, 'readers.password'],
  [{ readers: { authentication: 'password', password: null } }, 'readers.password'],
  [{ cot: { uri: 'http://host:8087' } }, 'cot.uri'],
  [{ cot: { uri: 6969 } }, 'cot.uri'],
  [{ colour: 'red' }, 'colour'],
  [{ encoder: { preference: 'auto', brand: 'x' } }, 'encoder.brand'],
  [{ toString: 1 }, 'toString'],
]

const CHANGE = { start_timeout_seconds: 20, reconnect: { max_delay_seconds: 60 } }

describe('the settings', () => {
  testRowsOnAllHosts([
    row('are the defaults at first', 'GET /svc/settings', 200, { after: expectDefaults }),
    row('change by single fields, also within a group, and reach the engine at once', [PUT, CHANGE], 200, {
      after: async (api, _response, text) => {
        const reconnect = { ...DEFAULT_SETTINGS.reconnect, ...CHANGE.reconnect }
        const expected = { ...DEFAULT_SETTINGS, ...CHANGE, reconnect }
        const { webhooks: _, ...ofEngine } = expected
        expect([JSON.parse(text), await read(api), api.engine.settings()]).toEqual([expected, expected, ofEngine])
      },
    }),
    row('refuse a value out of bounds', [PUT, { start_timeout_seconds: 0 }], 400, '"path":"start_timeout_seconds"'),
  ])
  testRows([
    row('keep earlier changes', [PUT, { stall_timeout_seconds: 44 }], 200, ['"initial_delay_ms":1000', '"preference":"software"'], {
      given: (api) => put(api, { reconnect: { initial_delay_ms: 1000 }, encoder: { preference: 'software' } }),
    }),
    row('send Cursor on Target to a receiver, and to none again', [PUT, { cot: { interval_ms: 500 } }], 200, {
      given: (api) => put(api, { cot: { uri: 'udp://239.2.3.1:6969' } }),
      after: async (api) => {
        expect(api.engine.settings()?.cot).toEqual({ uri: 'udp://239.2.3.1:6969', interval_ms: 500 })
        expect(await (await put(api, { cot: { uri: null } })).json()).toMatchObject({ cot: { uri: null, interval_ms: 500 } })
      },
    }),
    row('accept null for never', [PUT, { reconnect: { give_up_after_seconds: null } }], 200, '"give_up_after_seconds":null', {
      given: (api) => put(api, { reconnect: { give_up_after_seconds: 60 } }),
    }),
    row('replace a list as a whole', [PUT, { advanced: { denied_elements: ['filesrc'] } }], 200, '"denied_elements":["filesrc"]}'),
    row('accept the whole record as it was read', [PUT, DEFAULT_SETTINGS], 200, { after: expectDefaults }),
    row('stay unchanged for an empty body', [PUT, {}], 200, { after: expectDefaults }),
  ])

  const shared = useTestApi()
  it.each(REFUSED)('refuse %j and stay unchanged', async (body, path) => {
    const readers = { max_per_pipeline: 7, ...(body as { readers?: object }).readers }
    const answer = await put(shared(), { ...body, readers })
    expect([answer.status, await answer.text()]).toEqual([400, expect.stringContaining(`"path":"${path}"`)])
    expect(await read(shared())).toEqual(DEFAULT_SETTINGS)
  })

  it('apply all concurrent changes', async () => {
    const api = await openApi()
    const changes = { start_timeout_seconds: 33, stall_timeout_seconds: 44, screenshots: { quality: 55 } }
    await Promise.all(Object.entries(changes).map(([name, value]) => put(api, { [name]: value })))
    expect(await read(api)).toMatchObject(changes)
    expect(await read(api)).toMatchObject(api.engine.settings() ?? {})
  })

  it('have their defaults where another version has stored what this one refuses, until they are set again', async () => {
    const api = await openApi()
    const stored = { start_timeout_seconds: 999, reconnect: { initial_delay_ms: 100, jitter: 1 }, cot: 5, later: true }
    await api.deps.settings.write(stored as PartialSettings, api.time)
    const { start_timeout_seconds, cot, reconnect } = DEFAULT_SETTINGS
    const used = { start_timeout_seconds, cot, reconnect: { ...reconnect, initial_delay_ms: 100 } }
    expect(await read(api)).toMatchObject(used)
    expect((await put(api, { stall_timeout_seconds: 44 })).status).toBe(200)
    expect(api.engine.settings()).toMatchObject({ ...used, stall_timeout_seconds: 44 })
    expect(await api.deps.settings.read()).toEqual({ stall_timeout_seconds: 44, reconnect: { initial_delay_ms: 100 } })
  })

  it('never take the defaults of what protects', () => {
    const stored = { readers: { authentication: 'token' }, advanced: { enabled: 'no' }, start_timeout_seconds: 999 }
    expect(refusedFields(stored as never)).toEqual(['start_timeout_seconds'])
  })

  it('are restored in the engine when the database cannot store them', async () => {
    const api = await openApi()
    await put(api, { start_timeout_seconds: 33 })
    api.deps.settings.write = () => Promise.reject(new Error('disk full'))
    expect((await put(api, { start_timeout_seconds: 44 })).status).toBe(500)
    expect(api.engine.settings()).toMatchObject({ start_timeout_seconds: 33 })
  })

  it('are those of the database in the engine, also when the answer of the database was lost', async () => {
    const api = await openApi()
    const { write } = api.deps.settings
    api.deps.settings.write = async (...change) => {
      await write(...change)
      throw new ApiError('SERVICE_UNAVAILABLE', 'The database does not answer.', { reason: 'database' })
    }
    expect((await put(api, { start_timeout_seconds: 44 })).status).toBe(503)
    expect([await read(api), api.engine.settings()]).toMatchObject(Array(2).fill({ start_timeout_seconds: 44 }))
  })
})

describe('the password of readers', () => {
  const PASSWORD = 'kestrel: "<&>" ***'
  const WITH_PASSWORD = { readers: { authentication: 'password', password: PASSWORD } }
  const MASKED = { max_per_pipeline: 1000, authentication: 'password', username: 'viewer', password: '***' }
  const given = (api: TestApi) => put(api, WITH_PASSWORD)
  const expectReaders = (expected: object) => (api: TestApi) => expect(api.engine.settings()?.readers).toMatchObject(expected)

  testRows([
    row('reaches the engine and no answer', [PUT, WITH_PASSWORD], 200, {
      lacks: ['kestrel'],
      after: async (api, _response, text) => {
        expect([JSON.parse(text).readers, (await read(api)).readers]).toEqual([MASKED, MASKED])
        expect(api.engine.settings()?.readers).toEqual({ ...MASKED, password: PASSWORD })
        expect(await api.deps.settings.read()).toEqual(WITH_PASSWORD)
      },
    }),
    row('is kept when the settings are sent back as they were read', [PUT, { ...DEFAULT_SETTINGS, readers: MASKED }], 200, {
      given,
      lacks: ['kestrel'],
      after: expectReaders({ password: PASSWORD }),
    }),
    row('is kept while it is switched off, and used again', [PUT, { readers: { authentication: 'password', username: 'guest' } }], 200, {
      given: async (api) => {
        await given(api)
        await put(api, { readers: { authentication: 'none' } })
      },
      after: expectReaders({ username: 'guest', password: PASSWORD }),
    }),
    row('cannot be removed while it is needed', [PUT, { readers: { password: null } }], 400, '"path":"readers.password"', {
      given,
      after: expectReaders({ password: PASSWORD }),
    }),
    row('is removed together with the need for it', [PUT, { readers: { authentication: 'none', password: null } }], 200, {
      given,
      after: expectReaders(DEFAULT_SETTINGS.readers),
    }),
    row('is in no message about it', [PUT, { readers: { password: 'short77', username: 'hidden:name' } }], 400, {
      lacks: ['short77', 'hidden'],
    }),
    row('may have 128 characters of any kind', [PUT, { readers: { authentication: 'password', password: 'ü'.repeat(128) } }], 200),
  ])
})
