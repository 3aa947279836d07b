import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createCredentialRepository } from '../../../db/credential.ts'
import { type Database, openDatabase } from '../../../db/open.ts'
import { createPipelineRepository } from '../../../db/pipelines.ts'
import { createSessionRepository } from '../../../db/sessions.ts'
import { createSettingsRepository } from '../../../db/settings.ts'
import { keepPipelinesInMemory } from '../../../db/write-through.ts'
import { type AppDeps, assemble, createApp, type FetchHandler } from '../../../handlers/app.ts'
import { type Fleet, openFleet } from '../../../handlers/node/fleet/fleet.ts'
import { notifySettings } from '../../../handlers/node/webhooks.ts'
import { readConfiguration } from '../../../lib/configuration/configuration.ts'
import type { Log } from '../../../lib/ports.ts'
import { createFakeCameras } from '../fakes/cameras.ts'
import { createFakeEngine, type FakeEngine } from '../fakes/engine.ts'
import { fakeHasher } from '../fakes/engine-server.ts'
import { createFakeKlv } from '../fakes/klv.ts'
import { createFakeLive } from '../fakes/live.ts'
import { createFakeRecordings } from '../fakes/recordings.ts'
import { createFakeScreenshots } from '../fakes/screenshots.ts'
import { type BlockableLink, startBlockableLink } from './blockable-link.ts'

const API_KEY = 'the-api-key-of-the-histories'
const SILENT: Log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }
let starts = 0

/** A host of a fleet in this process: API, database and agent are real, the engine has no media, and its link can be cut. */
export class HistoryHost {
  readonly name: string
  readonly link: BlockableLink
  /** Ids of the events since the first start, in their order. */
  readonly published: string[] = []
  readonly #folder: string
  readonly #database: Database
  #engine: FakeEngine = createFakeEngine()
  #running: { readonly stopping: AbortController; readonly fleet: Fleet; readonly app: FetchHandler } | undefined

  private constructor(name: string, { link, folder, database }: { link: BlockableLink; folder: string; database: Database }) {
    this.name = name
    this.link = link
    this.#folder = folder
    this.#database = database
  }

  static async open(name: string, port: number): Promise<HistoryHost> {
    const folder = mkdtempSync(join(tmpdir(), 'history-'))
    const database = await openDatabase({ url: `file:${join(folder, 'service.db')}` })
    return new HistoryHost(name, { link: await startBlockableLink(port), folder, database })
  }

  get isRunning(): boolean {
    return this.#running !== undefined
  }

  /** Starts API and agent. */
  begin(): void {
    const environment = { SVC_NATS_URL: `nats://127.0.0.1:${this.link.port}`, SVC_HOST_NAME: this.name, SVC_DATA_DIR: this.#folder }
    const configuration = readConfiguration(environment)
    if ('mistakes' in configuration || configuration.nats === undefined) throw new Error('no configuration')
    const stopping = new AbortController()
    const settings = notifySettings(createSettingsRepository(this.#database), () => fleet.onSettings())
    const deps: AppDeps = assemble({ ...this.#ports(() => deps), settings, stopping: stopping.signal, fleet: () => fleet.state() })
    deps.events.feed.subscribe({ onEvent: ({ id }) => void this.published.push(id), onEnd: () => {} })
    const app = createApp(deps)
    const parts = { deps, app, apiKey: API_KEY, dataDir: this.#folder, log: SILENT, stopping: stopping.signal }
    const fleet = openFleet(configuration, configuration.nats)(parts)
    this.#running = { stopping, fleet, app }
    fleet.begin(Promise.resolve())
  }

  /** Ends both, as a stop of the service does; the engine goes on. */
  async end(): Promise<void> {
    this.#running?.stopping.abort()
    await this.#running?.fleet.ended()
    this.#running = undefined
  }

  /** As a host that has never been in use, but for its events. Not while it runs. */
  async forget(): Promise<void> {
    const pipelines = createPipelineRepository(this.#database)
    for (const { config } of await pipelines.list()) await pipelines.remove(config.id)
    await createSettingsRepository(this.#database).write({}, 0)
    this.#engine = createFakeEngine()
    rmSync(join(this.#folder, 'fleet.json'), { force: true })
  }

  /** A request of a person on the host; answers its JSON. */
  // biome-ignore lint/suspicious/noExplicitAny: tests read answers of many shapes
  async request(method: string, path: string, body?: object): Promise<any> {
    if (this.#running === undefined) throw new Error(`${this.name} does not run`)
    const headers = { 'content-type': 'application/json', 'x-api-key': API_KEY }
    const init = { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) }
    const answer = await this.#running.app(new Request(`http://127.0.0.1${path}`, init))
    const text = await answer.text()
    return text === '' ? undefined : JSON.parse(text)
  }

  async close(): Promise<void> {
    await this.end()
    this.#database.close()
    this.link.close()
    rmSync(this.#folder, { recursive: true, force: true, maxRetries: 5 })
  }

  #ports(deps: () => AppDeps) {
    const engine = this.#engine
    starts += 1
    const startedAt = Date.now() + starts
    // The stream of a real engine says so.
    const saying =
      <Args extends readonly unknown[], T>(call: (id: string, ...args: Args) => Promise<T>) =>
      async (id: string, ...args: Args): Promise<T> => {
        const answer = await call(id, ...args)
        deps().events.changed(id)
        return answer
      }
    return {
      engine: { ...engine, play: saying(engine.play), stop: saying(engine.stop) },
      screenshots: createFakeScreenshots(engine),
      recordings: createFakeRecordings(engine),
      klv: createFakeKlv(engine),
      live: createFakeLive(engine),
      cameras: createFakeCameras(),
      pipelines: keepPipelinesInMemory(createPipelineRepository(this.#database)),
      credentials: createCredentialRepository(this.#database),
      sessions: createSessionRepository(this.#database),
      hasher: fakeHasher,
      license: { read: async () => null },
      apiKey: API_KEY,
      clock: { now: () => Date.now() },
      log: SILENT,
      version: '0.1.0',
      startedAt,
      uptimeSeconds: () => 1,
    }
  }
}
