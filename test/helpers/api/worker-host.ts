import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { Miniflare } from 'miniflare'
import { connectToBinding } from '../../../db/connect/binding.ts'
import { type Database, toDatabase } from '../../../db/connect/connection.ts'
import type { DatabaseBinding } from '../../../db/connect/d1.ts'
import { migrate } from '../../../db/migrations/migrate.ts'
import { MIGRATIONS } from '../../../db/migrations/migrations.ts'
import type { Engine } from '../../../lib/engine/protocol.ts'
import { type EngineParts, startFakeEngineServer } from '../fakes/engine-server.ts'

const SCRIPT = resolve(import.meta.dirname, '../../../dist/worker.js')
const ENGINE_TOKEN = 'the-bearer-secret-of-the-engine'
const TABLES = ['pipelines', 'settings', 'credential', 'sessions']

/** The built worker in workerd: its engine is a service binding to fakes of this process, its database a D1 binding. */
export interface RunningWorker {
  readonly miniflare: Miniflare
  readonly database: Database
  /** Sets the fakes behind the engine binding. */
  use(parts: EngineParts): void
  /** Deletes every row. */
  empty(): Promise<void>
}

let running: Promise<RunningWorker> | undefined

/** One workerd for all test files of this process; it ends with the process. The database is emptied for each caller. */
export const sharedWorker = async (variables: Record<string, string>): Promise<RunningWorker> => {
  running ??= startWorker(variables)
  const worker = await running
  await worker.empty()
  // The worker greets its engine every two seconds and would hand its pipelines to one that is not configured: at any point of a test.
  return { ...worker, use: (parts) => worker.use({ ...parts, engine: configured(parts.engine) }) }
}

const configured = (engine: Engine): Engine => ({ ...engine, status: async () => ({ ...(await engine.status()), configured: true }) })

/** A worker of its own; its first call greets the engine. */
export const startWorker = async (variables: Record<string, string>): Promise<RunningWorker> => {
  let current: EngineParts | undefined
  const parts = (): EngineParts => {
    if (current === undefined) throw new Error('There is no engine yet')
    return current
  }
  const engine = await startFakeEngineServer(parts, ENGINE_TOKEN)
  const miniflare = new Miniflare({
    modules: [{ type: 'ESModule', path: 'worker.js', contents: readFileSync(SCRIPT, 'utf8') }],
    compatibilityDate: '2026-07-01',
    bindings: { SVC_ENGINE_TOKEN: ENGINE_TOKEN, ...variables },
    d1Databases: ['DATABASE'],
    serviceBindings: {
      // Miniflare brings the Request and Response of another copy of undici.
      ENGINE: async (request: Request) => {
        const { url, method, headers } = request
        const body = method === 'GET' ? null : await request.arrayBuffer()
        const { pathname, search } = new URL(url)
        const forwarded = new Headers([...headers])
        forwarded.set('connection', 'close')
        return (await fetch(`${engine.url}${pathname}${search}`, { method, headers: forwarded, body })) as never
      },
    },
  })
  const binding = await miniflare.getD1Database('DATABASE')
  const connection = connectToBinding(binding as unknown as DatabaseBinding)
  await migrate(connection.client, MIGRATIONS)
  return {
    miniflare,
    database: toDatabase(connection),
    use: (next) => {
      current = next
    },
    // One call: each call of the binding is a request to workerd.
    empty: async () => {
      await binding.exec(TABLES.map((table) => `DELETE FROM ${table}`).join('\n'))
    },
  }
}
