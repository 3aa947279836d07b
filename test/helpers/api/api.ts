import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, onTestFinished } from 'vitest'
import { createCredentialRepository } from '../../../db/credential.ts'
import type { Database } from '../../../db/open.ts'
import { createPipelineRepository } from '../../../db/pipelines.ts'
import { createSessionRepository } from '../../../db/sessions.ts'
import { createSettingsRepository } from '../../../db/settings.ts'
import { keepCredentialInMemory, keepPipelinesInMemory } from '../../../db/write-through.ts'
import { type AppDeps, apiRoutes, assemble, createApi, type FetchHandler, type HostPorts } from '../../../handlers/app.ts'
import type { Log, LogFields } from '../../../lib/ports.ts'
import { createFakeCameras, type FakeCameras } from '../fakes/cameras.ts'
import { createFakeEngine, type FakeEngine } from '../fakes/engine.ts'
import { fakeHasher } from '../fakes/engine-server.ts'
import { createFakeKlv, type FakeKlv } from '../fakes/klv.ts'
import { createFakeLive, type FakeLive } from '../fakes/live.ts'
import { START } from '../fakes/pipeline-record.ts'
import { createFakeRecordings, type FakeRecordings } from '../fakes/recordings.ts'
import { createFakeScreenshots, type FakeScreenshots } from '../fakes/screenshots.ts'
import { type AnswerCheck, createAnswerCheck } from './document.ts'
import { openEmptyDatabase } from './empty-database.ts'
import { API_KEY, fetchHost, type TestHost } from './hosts.ts'

export interface LoggedLine {
  readonly level: string
  readonly event: string
  readonly fields: LogFields
}

/** An API over a fake engine and a libSQL file, with all that a test can change. */
export interface TestApi extends AsyncDisposable {
  readonly app: FetchHandler
  /** Where the host serves it. */
  readonly origin: string
  readonly deps: AppDeps
  readonly engine: FakeEngine
  readonly screenshots: FakeScreenshots
  readonly recordings: FakeRecordings
  readonly klv: FakeKlv
  readonly live: FakeLive
  readonly cameras: FakeCameras
  readonly database: Database
  readonly folder: string
  readonly logged: LoggedLine[]
  /** The clock, milliseconds since the epoch. */
  time: number
  /** Text of the license file; null: no file. */
  license: string | null
  /** Checks answers against the OpenAPI document. */
  readonly answers: AnswerCheck
  /** Sends a request; fails when the answer does not match the OpenAPI document. */
  send(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Response>
  /** The JSON of a GET. */
  // biome-ignore lint/suspicious/noExplicitAny: tests read answers of many shapes
  read(path: string): Promise<any>
  /** Creates a pipeline and answers it; throws unless the answer is 201. */
  given(body: Record<string, unknown>): Promise<Record<string, unknown>>
}

export const ORIGIN = 'http://api.test'

export { START } from '../fakes/pipeline-record.ts'
export { API_KEY } from './hosts.ts'

// The routes are the same for every API; schemas take a while to compile.
let answerCheck: AnswerCheck | undefined

export const createTestApi = async (host: TestHost = fetchHost, ports: Partial<HostPorts> = {}): Promise<TestApi> => {
  const folder = await mkdtemp(join(tmpdir(), 'api-'))
  const database = await (host.openDatabase?.() ?? openEmptyDatabase(join(folder, 'service.db')))
  const alone = host.openDatabase === undefined
  const engine = createFakeEngine()
  const screenshots = createFakeScreenshots(engine)
  const recordings = createFakeRecordings(engine)
  const klv = createFakeKlv(engine)
  const live = createFakeLive(engine)
  const cameras = createFakeCameras()
  const logged: LoggedLine[] = []
  const deps = assemble({
    engine,
    screenshots,
    recordings,
    klv,
    live,
    cameras,
    pipelines: alone ? keepPipelinesInMemory(createPipelineRepository(database)) : createPipelineRepository(database),
    settings: createSettingsRepository(database),
    credentials: alone ? keepCredentialInMemory(createCredentialRepository(database)) : createCredentialRepository(database),
    sessions: createSessionRepository(database),
    hasher: fakeHasher,
    license: { read: async () => api.license },
    apiKey: API_KEY,
    clock: { now: () => api.time },
    log: recordingLog(logged),
    version: '0.1.0',
    startedAt: START,
    uptimeSeconds: () => (api.time - START) / 1000,
    writeState: () => database.writeState(),
    allowedHosts: [new URL(ORIGIN).hostname],
    ...ports,
  })
  const handlers = createApi(deps)
  answerCheck ??= createAnswerCheck(apiRoutes(deps))
  const answers = answerCheck
  const served = await host.serve(handlers, deps.log, { engine, screenshots, recordings, klv, live, cameras, hasher: fakeHasher })
  const api: TestApi = {
    app: handlers.fetch,
    origin: served.origin,
    deps,
    engine,
    screenshots,
    recordings,
    klv,
    live,
    cameras,
    database,
    folder,
    logged,
    time: START,
    license: null,
    answers,
    send: async (method, path, body, headers = {}) => {
      const request = toRequest(method, path, body, headers, served.origin)
      const response = await served.fetch(request)
      await answers.check(method, request.url, response)
      return response
    },
    read: async (path) => (await api.send('GET', path)).json(),
    given: async (body) => {
      const response = await api.send('POST', '/svc/pipeline', body)
      if (response.status !== 201) throw new Error(`Not created: ${await response.text()}`)
      return (await response.json()) as Record<string, unknown>
    },
    [Symbol.asyncDispose]: async () => {
      await served.close()
      database.close()
      await rm(folder, { recursive: true, force: true })
    },
  }
  return api
}

/** An API for one test, at whose end it is closed; `given` happens first. */
export const openApi = async (
  given: (api: TestApi) => unknown = () => undefined,
  host: TestHost = fetchHost,
  ports: Partial<HostPorts> = {},
): Promise<TestApi> => {
  const api = await createTestApi(host, ports)
  onTestFinished(() => api[Symbol.asyncDispose]())
  await given(api)
  return api
}

/** An API for all tests of a describe, which leave it as it is. */
export const useTestApi = (host: TestHost = fetchHost): (() => TestApi) => {
  let api: TestApi | undefined
  beforeAll(async () => {
    api = await createTestApi(host)
  })
  afterAll(() => api?.[Symbol.asyncDispose]())
  return () => {
    if (api === undefined) throw new Error('The API is made before the first test')
    return api
  }
}

/** Strings are sent unchanged, other bodies as JSON. */
export const toRequest = (method: string, path: string, body?: unknown, headers: Record<string, string> = {}, origin = ORIGIN): Request => {
  const text = body === undefined || typeof body === 'string' ? body : JSON.stringify(body)
  return new Request(`${origin}${path}`, {
    method,
    headers: text === undefined ? headers : { 'content-type': 'application/json', ...headers },
    ...(text === undefined ? {} : { body: text }),
  })
}

const recordingLog = (lines: LoggedLine[]): Log => {
  const write =
    (level: string) =>
    (event: string, fields: LogFields = {}) => {
      lines.push({ level, event, fields })
    }
  return { debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') }
}

/** The body of a simple pipeline. */
export const simple = (id: string, more: Record<string, unknown> = {}) => ({
  id,
  mode: 'simple',
  source: { uri: 'rtsp://10.0.0.5/stream' },
  ...more,
})

/** The body of an advanced pipeline that publishes. */
export const advanced = (id: string, more: Record<string, unknown> = {}) => ({
  id,
  mode: 'advanced',
  raw_pipeline: 'videotestsrc is-live=true ! x264enc ! rtph264pay name=pay0',
  ...more,
})
