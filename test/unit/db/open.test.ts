import { once } from 'node:events'
import { copyFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createClient } from '@libsql/client/sqlite3'
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { migrate } from '../../../db/migrations/migrate.ts'
import { MIGRATIONS } from '../../../db/migrations/migrations.ts'
import { checkDatabase, openDatabase } from '../../../db/open.ts'
import { createPipelineRepository } from '../../../db/pipelines.ts'
import { createSettingsRepository } from '../../../db/settings.ts'
import { pipelineRecord, START } from '../../helpers/fakes/pipeline-record.ts'
import { startHttpServer } from '../../helpers/http-server.ts'

/** The page size of SQLite. */
const PAGE_BYTES = 4096

let folder = ''
const file = () => join(folder, 'service.db')
const url = () => `file:${file()}`

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'database-'))
})
afterEach(() => rm(folder, { recursive: true, force: true }))

/** An open database; closed at the end of the test. */
const open = async (options: { readonly url: string } = { url: url() }) => {
  const database = await openDatabase(options)
  onTestFinished(() => database.close())
  return { database, pipelines: createPipelineRepository(database), settings: createSettingsRepository(database) }
}

/** A connection that migrates nothing; closed at the end of the test. */
const connect = () => {
  const client = createClient({ url: url() })
  onTestFinished(() => client.close())
  return client
}

const failureOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => undefined,
    (error: unknown) => error,
  )

const simple = pipelineRecord(
  'cam-1',
  {
    on_demand: true,
    klv_config: { pass_klv: true, auto_extract_geolocation: false, synchronous: false },
    source: { uri: "rtsp://10.0.0.5/a'b;--", latency_ms: 50 },
    encoding: { codec: 'h265', bitrate: 2000, width: 640, height: 480, fps: 29.97, quality: 7 },
  },
  { desired: 'ready', geolocation: { latitude: 60.1768, longitude: 128.4268, altitude: null, heading: 0 }, updated_at: START + 1 },
)
const described = (raw_pipeline: string) =>
  pipelineRecord('adv', { mode: 'advanced', raw_pipeline, source: undefined, encoding: undefined, output: null, ephemeral: true })
const advanced = { ...described('videotestsrc ! fakesink'), trigger_path: 'live/drone', created_at: START + 2 }

describe('stored pipelines', () => {
  it('are read as they were stored, also after the file was closed', async () => {
    const first = await open()
    for (const record of [simple, advanced]) await first.pipelines.insert(record)
    await first.database.close()
    const { pipelines } = await open()
    expect(await pipelines.list()).toEqual([simple, advanced])
    expect([await pipelines.find('adv'), await pipelines.count()]).toEqual([advanced, 2])
  })

  it('are undefined when they do not exist', async () => {
    const { pipelines } = await open()
    expect(await pipelines.find('x')).toBeUndefined()
    expect([await pipelines.remove('x'), await pipelines.setDesired('x', 'playing')]).toEqual([false, false])
    expect(await pipelines.setGeolocation('x', null, 0)).toBe(false)
  })

  it('refuse a duplicate id with CONFLICT', async () => {
    const { pipelines } = await open()
    await pipelines.insert(simple)
    await expect(pipelines.insert({ ...simple, desired: 'playing' })).rejects.toMatchObject({ code: 'CONFLICT' })
    expect(await pipelines.list()).toEqual([simple])
  })

  it('are SERVICE_UNAVAILABLE without SQL in the message when the database is gone', async () => {
    const { database, pipelines } = await open()
    await database.close()
    const message = expect.not.stringMatching(/select|sql/i)
    await expect(pipelines.list()).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE', message })
  })
})

it('stored settings are empty at first, then the last ones written', async () => {
  const { settings } = await open()
  expect(await settings.read()).toEqual({})
  await settings.write({ start_timeout_seconds: 5 }, 1)
  await settings.write({ encoder: { preference: 'software' } }, 2)
  expect(await settings.read()).toEqual({ encoder: { preference: 'software' } })
})

describe('opening a database', () => {
  it('can be done by several processes at once on a new file', async () => {
    const opened = await Promise.all(Array.from({ length: 5 }, () => open()))
    for (const { pipelines } of opened) expect(await pipelines.count()).toBe(0)
  })

  it('refuses a file that is not a database or cannot be opened, with a message for the operator', async () => {
    await writeFile(file(), 'a text that is long enough for the header of a database\n'.repeat(30))
    await expect(open()).rejects.toThrow(/service\.db is damaged or not a database/)
    await expect(open({ url: `file:${join(folder, 'missing', 'service.db')}` })).rejects.toThrow(/cannot be opened/)
  })

  it('finds damage in any page of a file when it checks it', async () => {
    const { database } = await open()
    await database.close()
    const whole = await readFile(file())
    const check = () => checkDatabase({ url: url() }, async () => 'read')
    await expect(check()).resolves.toBe('read')
    expect(whole.length).toBeGreaterThan(5 * PAGE_BYTES)
    for (let at = PAGE_BYTES; at < whole.length; at += PAGE_BYTES) {
      await writeFile(file(), Buffer.from(whole).fill(0xa5, at, at + 100))
      await expect(check()).rejects.toThrow(/service\.db is damaged/)
    }
  })

  it('refuses a database of a newer program', async () => {
    const future = { version: MIGRATIONS.length + 1, name: 'future', sql: 'CREATE TABLE future (id INTEGER);' }
    await migrate(connect(), [...MIGRATIONS, future])
    await expect(open()).rejects.toThrow(/version \d+.*newer/)
  })
})

describe('a migration', () => {
  it('states of a stored pipeline what is new in its KLV', async () => {
    const { database, pipelines } = await open()
    await pipelines.insert(simple)
    await database.close()
    const client = connect()
    await client.execute("UPDATE pipelines SET klv_config = json_remove(klv_config, '$.synchronous')")
    await client.execute('DELETE FROM schema_migrations WHERE version > 5')
    client.close()
    expect(await (await open()).pipelines.list()).toEqual([simple])
  })

  it('is rolled back when one of its statements fails, can be repeated, and is applied once', async () => {
    const client = connect()
    const broken = { version: 1, name: 'broken', sql: 'CREATE TABLE one (id INTEGER);\nCREATE TABLE one (id INTEGER);' }
    await expect(migrate(client, [broken])).rejects.toThrow(/version 1 \(broken\)/)
    for (let times = 0; times < 2; times += 1) await migrate(client, [{ ...broken, sql: 'CREATE TABLE one (id INTEGER);' }])
    expect((await client.execute('SELECT version, name FROM schema_migrations')).rows).toMatchObject([{ version: 1, name: 'broken' }])
  })
})

it('an error of the database quotes no value', async () => {
  const { pipelines } = await open()
  await connect().execute('DROP TABLE pipelines')
  const source = { uri: 'rtsp://me:to"psecret@cam/x', latency_ms: 50 }
  const error = await failureOf(pipelines.insert(pipelineRecord('cam-1', { source })))
  const chain: string[] = []
  for (let at = error; at instanceof Error; at = at.cause) chain.push(`${at.message} ${at.stack} ${JSON.stringify(at)}`)
  expect(chain.join()).toContain('no such table')
  expect(chain.join()).not.toMatch(/psecret|rtsp:/)
})

it('a copy of the file alone is complete once the database was closed', async () => {
  const { database, pipelines } = await open()
  await pipelines.insert(simple)
  await database.close()
  const copy = join(folder, 'copy.db')
  await copyFile(file(), copy)
  expect(await (await open({ url: `file:${copy}` })).pipelines.list()).toEqual([simple])
})

it('a full disk is named, not a database that does not answer, and nothing is lost', async () => {
  const { database, pipelines } = await open()
  await pipelines.insert(simple)
  await database.orm.run('PRAGMA max_page_count = 1')
  const fault = { code: 'SERVICE_UNAVAILABLE', message: expect.stringContaining('Free space'), details: { reason: 'database' } }
  await expect(pipelines.insert(described('x'.repeat(100_000)))).rejects.toMatchObject(fault)
  expect(await pipelines.list()).toEqual([simple])
})

describe('whether it accepts changes', () => {
  it('is shown while every change is refused', async () => {
    const { database } = await open()
    await database.orm.run('PRAGMA query_only = 1')
    expect(await database.writeState()).toBe('read_only')
  })

  it('is shown while another process writes, without waiting for it', async () => {
    const { database } = await open()
    const writing = await connect().transaction('write')
    const begun = performance.now()
    expect(await database.writeState()).toBe('busy')
    expect(performance.now() - begun).toBeLessThan(2500)
    await writing.rollback()
  })

  it('is tested once for many calls', async () => {
    const { database } = await open()
    expect(await database.writeState()).toBe('ok')
    await database.orm.run('PRAGMA query_only = 1')
    expect(await Promise.all([database.writeState(), database.writeState()])).toEqual(['ok', 'ok'])
  })
})

describe('a libSQL server', () => {
  const listen = (status: number) => startHttpServer((_request, response) => void response.writeHead(status).end())

  it('that is not there is reported with its address, the reason and what to check, without the credentials', async () => {
    const { server, url: address } = await listen(200)
    server.close()
    await once(server, 'close')
    const error = await failureOf(openDatabase({ url: address.replace('//', '//me:hidden@'), authToken: 'concealed' }))
    expect(String(error)).toMatch(new RegExp(`${address.slice(7)} does not answer as a libSQL server.*Check SVC_DATABASE_URL`))
    expect(String(error)).not.toMatch(/unknown reason|hidden|concealed/)
  })

  it('that refuses the token is reported as such', async () => {
    const { url: address } = await listen(401)
    const message = `${address.slice(7)} refuses the service. Check SVC_DATABASE_AUTH_TOKEN.`
    await expect(openDatabase({ url: address })).rejects.toThrow(message)
  })
})
