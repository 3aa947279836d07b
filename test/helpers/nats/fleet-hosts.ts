import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { pause } from '../../../lib/pause.ts'
import { createFakeCameras } from '../fakes/cameras.ts'
import { createFakeEngine, type FakeEngine } from '../fakes/engine.ts'
import { fakeHasher, startFakeEngineServer } from '../fakes/engine-server.ts'
import { createFakeKlv } from '../fakes/klv.ts'
import { createFakeLive } from '../fakes/live.ts'
import { createFakeRecordings } from '../fakes/recordings.ts'
import { createFakeScreenshots } from '../fakes/screenshots.ts'
import { startService } from '../process/service.ts'

/** A host of a fleet. */
export interface FleetHost {
  readonly name: string
  /** Of a host with processes of its own. */
  readonly pid: number | undefined
  /** The ids of the events since the start, in their order; of a host in this process. */
  readonly published: readonly string[] | undefined
  request(method: string, path: string, body?: object): Promise<number>
  stop(): Promise<void>
}

const variables = (name: string, url: string): Record<string, string> => ({ SVC_NATS_URL: url, SVC_HOST_NAME: name, SVC_DASHBOARD: '0' })

const folder = (): string => mkdtempSync(join(tmpdir(), 'fleet-'))
const remove = (dataDir: string): void => rmSync(dataDir, { recursive: true, force: true, maxRetries: 5 })

/** A host as it is installed: an API process and an engine. */
export const startRealHost = async (name: string, url: string): Promise<FleetHost> => {
  const dataDir = folder()
  const service = await startService({ dataDir, env: url === '' ? {} : variables(name, url) })
  return {
    name,
    pid: service.pid,
    published: undefined,
    request: async (method, path, body) => (await service.request(method, path, body)).status,
    stop: async () => {
      await service.stop()
      remove(dataDir)
    },
  }
}

const TOKEN = 'a-token-of-the-fake-engines'
const SERVICE = resolve(import.meta.dirname, '../../../dist/service.js')

const HEARTBEAT_MS = 1000

/** A fake engine whose stream of events goes on, as that of a real one. */
const followable = (engine: FakeEngine): FakeEngine => ({
  ...engine,
  async *events(signal): ReturnType<FakeEngine['events']> {
    yield { type: 'begin', engine: 'fake', revision: 0 }
    while (signal?.aborted !== true) {
      await pause(HEARTBEAT_MS, signal)
      yield { type: 'heartbeat' }
    }
  },
})

/** A host in this process: the built API with its database and agent, and an engine without media. */
export const startStubHost = async (name: string, url: string): Promise<FleetHost> => {
  const engine = followable(createFakeEngine())
  const parts = {
    ...{ engine, hasher: fakeHasher, cameras: createFakeCameras(), klv: createFakeKlv(engine), live: createFakeLive(engine) },
    ...{ recordings: createFakeRecordings(engine), screenshots: createFakeScreenshots(engine) },
  }
  const server = await startFakeEngineServer(() => parts, TOKEN)
  const { createService } = (await import(SERVICE)) as typeof import('../../../handlers/node/service.ts')
  const dataDir = folder()
  const environment = {
    ...variables(name, url),
    SVC_DATA_DIR: dataDir,
    SVC_ENGINE_URL: server.url,
    SVC_ENGINE_TOKEN: TOKEN,
  }
  const service = await createService({ environment, writeLog: () => {} })
  const published: string[] = []
  service.deps.events.feed.subscribe({ onEvent: ({ id }) => void published.push(id), onEnd: () => {} })
  return {
    name,
    pid: undefined,
    published,
    request: async (method, path, body) => {
      const headers = { 'content-type': 'application/json', 'x-api-key': service.apiKey }
      const init = { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) }
      return (await service.app(new Request(`http://127.0.0.1${path}`, init))).status
    },
    stop: async () => {
      await service.stop()
      server.close()
      remove(dataDir)
    },
  }
}
