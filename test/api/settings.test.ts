import { describe, expect, it } from 'vitest'
import { ApiError } from '../../lib/errors.ts'
import { DEFAULT_SETTINGS, type PartialSettings } from '../../lib/schema/settings.ts'
import { refusedFields } from '../../lib/settings/settings.ts'
import { createTestApi, type TestApi } from '../helpers/api/api.ts'
import { type ApiRow, testRows } from './api-rows.ts'

const put = (body: unknown) => ['PUT', '/svc/settings', body] as const
const read = async (api: TestApi) => (await api.send('GET', '/svc/settings')).json()

const outOfBounds: readonly (readonly [body: unknown, path: string])[] = [
  [{ start_timeout_seconds: 0 }, 'start_timeout_seconds'],
  [{ start_timeout_seconds: 121 }, 'start_timeout_seconds'],
  [{ start_timeout_seconds: 1.5 }, 'start_timeout_seconds'],
  [{ start_timeout_seconds: null }, 'start_timeout_seconds'],
  [{ stall_timeout_seconds: 1 }, 'stall_timeout_seconds'],
  [{ stall_timeout_seconds: 301 }, 'stall_timeout_seconds'],
  [{ reconnect: { initial_delay_ms: 49 } }, 'reconnect.initial_delay_ms'],
  [{ reconnect: { max_delay_seconds: 3601 } }, 'reconnect.max_delay_seconds'],
  [{ reconnect: { give_up_after_seconds: 0 } }, 'reconnect.give_up_after_seconds'],
  [{ reconnect: 5 }, 'reconnect'],
  [{ on_demand: { start_on_read: 'yes' } }, 'on_demand.start_on_read'],
  [{ on_demand: { close_after_seconds: 0 } }, 'on_demand.close_after_seconds'],
  [{ screenshots: { interval_seconds: 86401 } }, 'screenshots.interval_seconds'],
  [{ screenshots: { quality: 101 } }, 'screenshots.quality'],
  [{ screenshots: { max_files: 0 } }, 'screenshots.max_files'],
  [{ screenshots: { max_megabytes: 0 } }, 'screenshots.max_megabytes'],
  [{ triggers: { give_up_after_seconds: 0 } }, 'triggers.give_up_after_seconds'],
  [{ triggers: { max_ephemeral: 1001 } }, 'triggers.max_ephemeral'],
  [{ encoder: { preference: 'gpu' } }, 'encoder.preference'],
  [{ advanced: { enabled: 1 } }, 'advanced.enabled'],
  [{ advanced: { denied_elements: 'filesrc' } }, 'advanced.denied_elements'],
  [{ advanced: { denied_elements: ['file src'] } }, 'advanced.denied_elements.0'],
  [{ readers: { max_per_pipeline: 0 } }, 'readers.max_per_pipeline'],
  [{ readers: { authentication: 'digest' } }, 'readers.authentication'],
  [{ readers: { username: '' } }, 'readers.username'],
  [{ readers: { username: 'a:b' } }, 'readers.username'],
  [{ readers: { username: 'a"b' } }, 'readers.username'],
  [{ readers: { username: 'x'.repeat(65) } }, 'readers.username'],
  [{ readers: { password: 'seven77' } }, 'readers.password'],
  [{ readers: { password: 'x'.repeat(129) } }, 'readers.password'],
  [{ readers: { password: 12345678 } }, 'readers.password'],
  [{ readers: { password: '***' } }, 'readers.password'],
  [{ readers: { authentication: 'password' } }, 'readers.password'],
  [{ readers: { authentication: 'password', password: null } }, 'readers.password'],
  [{ cot: { uri: 'http://host:8087' } }, 'cot.uri'],
  [{ cot: { uri: 'udp://239.2.3.1' } }, 'cot.uri'],
  [{ cot: { uri: 'tcp://user:secret@host:8087' } }, 'cot.uri'],
  [{ cot: { uri: 6969 } }, 'cot.uri'],
  [{ cot: { interval_ms: 99 } }, 'cot.interval_ms'],
  [{ cot: { interval_ms: 60_001 } }, 'cot.interval_ms'],
  [{ colour: 'red' }, 'colour'],
  [{ encoder: { preference: 'auto', brand: 'x' } }, 'encoder.brand'],
  [{ toString: 1 }, 'toString'],
]

describe('the settings', () => {
  testRows([
    {
      name: 'are the defaults at first',
      request: ['GET', '/svc/settings'],
      status: 200,
      after: (_api, _response, text) => expect(JSON.parse(text)).toEqual(DEFAULT_SETTINGS),
    },
    {
      name: 'change by single fields, also within a group, and reach the engine at once',
      request: put({ start_timeout_seconds: 20, reconnect: { max_delay_seconds: 60 } }),
      status: 200,
      after: async (api, _response, text) => {
        const expected = {
          ...DEFAULT_SETTINGS,
          start_timeout_seconds: 20,
          reconnect: { ...DEFAULT_SETTINGS.reconnect, max_delay_seconds: 60 },
        }
        expect(JSON.parse(text)).toEqual(expected)
        expect(await read(api)).toEqual(expected)
        expect(api.engine.settings()).toEqual(expected)
      },
    },
    {
      name: 'keep earlier changes',
      given: (api) => api.send(...put({ reconnect: { initial_delay_ms: 1000 }, encoder: { preference: 'software' } })),
      request: put({ reconnect: { give_up_after_seconds: 60 } }),
      status: 200,
      contains: ['"reconnect":{"initial_delay_ms":1000,"max_delay_seconds":30,"give_up_after_seconds":60}', '"preference":"software"'],
    },
    {
      name: 'send Cursor on Target to a receiver, and to none again',
      given: (api) => api.send(...put({ cot: { uri: 'udp://239.2.3.1:6969' } })),
      request: put({ cot: { interval_ms: 500 } }),
      status: 200,
      contains: ['"cot":{"uri":"udp://239.2.3.1:6969","interval_ms":500}'],
      after: async (api) => {
        expect(api.engine.settings()?.cot).toEqual({ uri: 'udp://239.2.3.1:6969', interval_ms: 500 })
        expect(await (await api.send(...put({ cot: { uri: null } }))).json()).toMatchObject({ cot: { uri: null, interval_ms: 500 } })
      },
    },
    {
      name: 'accept null for never',
      given: (api) => api.send(...put({ reconnect: { give_up_after_seconds: 60 } })),
      request: put({ reconnect: { give_up_after_seconds: null } }),
      status: 200,
      contains: ['"give_up_after_seconds":null'],
    },
    {
      name: 'replace a list as a whole',
      request: put({ advanced: { denied_elements: ['filesrc'] } }),
      status: 200,
      contains: ['"advanced":{"enabled":true,"denied_elements":["filesrc"]}'],
    },
    {
      name: 'accept the whole record as it was read',
      request: put(DEFAULT_SETTINGS),
      status: 200,
      after: (_api, _response, text) => expect(JSON.parse(text)).toEqual(DEFAULT_SETTINGS),
    },
    {
      name: 'stay unchanged for an empty body',
      request: put({}),
      status: 200,
      after: (_api, _response, text) => expect(JSON.parse(text)).toEqual(DEFAULT_SETTINGS),
    },
    ...outOfBounds.map(
      ([body, path]): ApiRow => ({
        name: `refuse ${JSON.stringify(body)} and stay unchanged`,
        request: put({ ...(body as object), readers: { max_per_pipeline: 7, ...(body as { readers?: object }).readers } }),
        status: 400,
        contains: ['VALIDATION_ERROR', `"path":"${path}"`],
        after: async (api) => expect(await read(api)).toEqual(DEFAULT_SETTINGS),
      }),
    ),
  ])

  it('apply all concurrent changes', async () => {
    await using api = await createTestApi()
    await Promise.all(
      [put({ start_timeout_seconds: 33 }), put({ stall_timeout_seconds: 44 }), put({ screenshots: { quality: 55 } })].map((request) =>
        api.send(...request),
      ),
    )
    expect(await read(api)).toMatchObject({ start_timeout_seconds: 33, stall_timeout_seconds: 44, screenshots: { quality: 55 } })
    expect(api.engine.settings()).toEqual(await read(api))
  })

  it('have their defaults where another version has stored what this one refuses, until they are set again', async () => {
    await using api = await createTestApi()
    const stored = { start_timeout_seconds: 999, reconnect: { initial_delay_ms: 100, jitter: 1 }, cot: 5, later: true }
    await api.deps.settings.write(stored as PartialSettings, api.time)
    const { start_timeout_seconds, cot, reconnect } = DEFAULT_SETTINGS
    const used = { start_timeout_seconds, cot, reconnect: { ...reconnect, initial_delay_ms: 100 } }
    expect(await read(api)).toMatchObject(used)
    expect((await api.send(...put({ stall_timeout_seconds: 44 }))).status).toBe(200)
    expect(api.engine.settings()).toMatchObject({ ...used, stall_timeout_seconds: 44 })
    expect(await api.deps.settings.read()).toEqual({ stall_timeout_seconds: 44, reconnect: { initial_delay_ms: 100 } })
  })

  it('never take the defaults of what protects', async () => {
    const stored = { readers: { authentication: 'token' }, advanced: { enabled: 'no' }, start_timeout_seconds: 999 }
    expect(refusedFields(stored as never)).toEqual(['start_timeout_seconds'])
  })

  it('are restored in the engine when the database cannot store them', async () => {
    await using api = await createTestApi()
    await api.send(...put({ start_timeout_seconds: 33 }))
    api.deps.settings.write = async () => {
      throw new Error('disk full')
    }
    expect((await api.send(...put({ start_timeout_seconds: 44 }))).status).toBe(500)
    expect(api.engine.settings()).toMatchObject({ start_timeout_seconds: 33 })
  })

  it('are those of the database in the engine, also when the answer of the database was lost', async () => {
    await using api = await createTestApi()
    const { write } = api.deps.settings
    api.deps.settings.write = async (...change) => {
      await write(...change)
      throw new ApiError('SERVICE_UNAVAILABLE', 'The database does not answer.', { reason: 'database' })
    }
    expect((await api.send(...put({ start_timeout_seconds: 44 }))).status).toBe(503)
    expect(await (await api.send('GET', '/svc/settings')).json()).toMatchObject({ start_timeout_seconds: 44 })
    expect(api.engine.settings()).toMatchObject({ start_timeout_seconds: 44 })
  })
})

describe('the password of readers', () => {
  const PASSWORD = 'kestrel: "<&>" ***'
  const withPassword = { readers: { authentication: 'password', password: PASSWORD } }
  const masked = { max_per_pipeline: 1000, authentication: 'password', username: 'viewer', password: '***' }

  testRows([
    {
      name: 'reaches the engine and no answer',
      request: put(withPassword),
      status: 200,
      lacks: ['kestrel'],
      after: async (api, _response, text) => {
        expect([JSON.parse(text).readers, (await read(api)).readers]).toEqual([masked, masked])
        expect(api.engine.settings()?.readers).toEqual({ ...masked, password: PASSWORD })
        expect(await api.deps.settings.read()).toEqual(withPassword)
      },
    },
    {
      name: 'is kept when the settings are sent back as they were read',
      given: (api) => api.send(...put(withPassword)),
      request: put({ ...DEFAULT_SETTINGS, readers: { ...masked, max_per_pipeline: 7 } }),
      status: 200,
      after: async (api, _response, text) => {
        expect(JSON.parse(text).readers).toEqual({ ...masked, max_per_pipeline: 7 })
        expect(api.engine.settings()?.readers).toEqual({ ...masked, max_per_pipeline: 7, password: PASSWORD })
      },
    },
    {
      name: 'is kept while it is switched off, and used again',
      given: async (api) => {
        await api.send(...put(withPassword))
        await api.send(...put({ readers: { authentication: 'none' } }))
      },
      request: put({ readers: { authentication: 'password', username: 'guest' } }),
      status: 200,
      after: (api) => expect(api.engine.settings()?.readers).toMatchObject({ username: 'guest', password: PASSWORD }),
    },
    {
      name: 'cannot be removed while it is needed',
      given: (api) => api.send(...put(withPassword)),
      request: put({ readers: { password: null } }),
      status: 400,
      contains: ['"path":"readers.password"'],
      after: (api) => expect(api.engine.settings()?.readers.password).toBe(PASSWORD),
    },
    {
      name: 'is removed together with the need for it',
      given: (api) => api.send(...put(withPassword)),
      request: put({ readers: { authentication: 'none', password: null } }),
      status: 200,
      after: (api) => expect(api.engine.settings()?.readers).toEqual(DEFAULT_SETTINGS.readers),
    },
    {
      name: 'is in no message about it',
      request: put({ readers: { password: 'short77', username: 'hidden:name' } }),
      status: 400,
      lacks: ['short77', 'hidden'],
    },
    {
      name: 'may have 8 to 128 characters of any kind',
      request: put({ readers: { authentication: 'password', password: 'ü'.repeat(128) } }),
      status: 200,
    },
  ])
})
