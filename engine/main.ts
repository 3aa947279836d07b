import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { readConfiguration } from '../lib/configuration/configuration.ts'
import { ENGINE_PROTOCOL } from '../lib/engine/protocol.ts'
import { createLineWriter, createLog } from '../lib/log/log.ts'
import { terminalStyle } from '../lib/log/log-text.ts'
import { endWhenHanging } from '../lib/process/hang-watch.ts'
import { watchSilence } from '../lib/watch-silence.ts'
import packageJson from '../package.json' with { type: 'json' }
import { startCameraMonitor } from './cameras/monitor.ts'
import { CotSender } from './cot/sender.ts'
import { createVideoUrl } from './cot/video-url.ts'
import { killAll, runToEnd } from './gst/child.ts'
import { createAnnouncement } from './http/announcement.ts'
import { cameraAnswers } from './http/cameras.ts'
import type { EngineAnswers } from './http/dispatch.ts'
import { klvAnswers } from './http/klv.ts'
import { listen } from './http/listen.ts'
import { liveAnswers } from './http/live.ts'
import { passwordAnswers } from './http/passwords.ts'
import { pipelineAnswers } from './http/pipelines.ts'
import { recordingAnswers } from './http/recordings.ts'
import { screenshotAnswers } from './http/screenshots.ts'
import { createEngineServer } from './http/server.ts'
import { createPlanner, noSandbox } from './launch/plan.ts'
import { createEngineMetrics } from './metrics/metrics.ts'
import { RateHistory, SAMPLE_MS } from './metrics/rate-history.ts'
import { readHostWarnings } from './outputs/host-warnings.ts'
import { Supervisor } from './pipelines/supervisor.ts'
import { Playback } from './recordings/playback/playback.ts'
import { Recordings } from './recordings/recordings.ts'
import { createPublisher } from './rtsp/publisher/publisher.ts'
import { confineChildren } from './sandbox/confinement.ts'
import { withholdInherited } from './sandbox/inherited.ts'
import { killLeftovers, processStart } from './sandbox/leftovers.ts'
import { KeptMemory } from './screenshots/decode/decoder-keeper.ts'
import { createDecodeSlots } from './screenshots/decode/slots.ts'
import { FileStore } from './screenshots/files/file-store.ts'
import { WebRtc } from './webrtc/web-rtc.ts'

/** A sidecar without contact to an API process for this long stops itself and its streams. */
const ABANDONED_AFTER_MS = 60_000
/** A disk that was full may have space again. */
const ANNOUNCE_EVERY_MS = 5000
/** Longest time to end in order; afterwards the children die with this process. */
const CLOSE_WITHIN_MS = 5000

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

const NOT_ANNOUNCED =
  'Free space in the data directory, or let this user write to it. Until then the streams end when the API process does.'

/**
 * libuv lets half of its threads look up names, which is two by default: two cameras whose name server hangs would keep
 * all others with names away. A thread that waits costs 10 KB.
 */
const WORKER_THREADS = '32'
/** EX_CONFIG of sysexits.h. */
const EXIT_CONFIGURATION = 78
/** EX_UNAVAILABLE. */
const EXIT_UNAVAILABLE = 69

// Before anything uses a thread.
process.env.UV_THREADPOOL_SIZE ??= WORKER_THREADS

const configuration = readConfiguration(process.env)
if ('mistakes' in configuration) {
  for (const line of configuration.mistakes) process.stderr.write(`${line}\n`)
  process.exit(EXIT_CONFIGURATION)
}

const clock = { now: () => Date.now() }
const log = createLog({
  level: configuration.logLevel,
  clock,
  write: createLineWriter(process.stderr, (lines) => log.warn('log_lines_dropped', { lines })),
  fields: { process: 'engine' },
  text: terminalStyle(process.stderr, process.env),
})

// A log whose reader is gone must not end the streams.
process.stderr.on('error', () => {})
process.stdout.on('error', () => {})

// The state is unknown after this: end at once. The children die with the process, and the API process starts another.
process.on('uncaughtException', (error) => {
  log.error('engine_crashed', { error })
  process.exit(1)
})

await withholdInherited()
if (configuration.engineListen !== undefined) endWhenHanging('engine')
mkdirSync(configuration.dataDir, { recursive: true, mode: 0o700 })
/** A signal during the start ends it, and the programs that it runs, so that they leave nothing behind. */
const starting = new AbortController()
// Never removed: without a handler the next signal would end this process at once, before it has cleaned up.
for (const signal of SIGNALS) process.on(signal, () => starting.abort())
const leftovers = await killLeftovers()
if (leftovers > 0) log.warn('leftovers_killed', { processes: leftovers })
const sandbox = await confineChildren(configuration.sandbox, configuration.dataDir, runToEnd, starting.signal)
if (starting.signal.aborted) process.exit(0)
if (sandbox.state !== 'on') {
  log[sandbox.state === 'off' ? 'info' : 'warn']('sandbox_not_used', { state: sandbox.state, reason: sandbox.reason })
  if (configuration.sandbox === 'required') process.exit(EXIT_UNAVAILABLE)
}

const { outputHost, outputTls, outputTlsCert: cert, outputTlsKey: key } = configuration
const publisher = createPublisher({
  log,
  host: outputHost,
  ...(cert !== undefined && key !== undefined && { tls: { files: { cert, key }, required: outputTls === 'required' } }),
})
// Starts its process with the first call.
const cameras = startCameraMonitor({ log })
const planner = createPlanner({
  allowFiles: configuration.allowFileSources,
  cameras,
  ...(sandbox.state === 'unavailable' && { advancedRefusal: noSandbox(sandbox.reason) }),
})
const files = new FileStore({
  folder: join(configuration.dataDir, 'screenshots'),
  retention: () => supervisor.settings.screenshots,
  log,
})
const recordingsDir = configuration.recordingsDir ?? join(configuration.dataDir, 'recordings')
const recordings = new Recordings({
  folder: recordingsDir,
  dataDir: configuration.dataDir,
  settings: () => supervisor.settings.recordings,
  configured: () => supervisor.configured,
  now: clock.now,
  log,
})
const webRtc = new WebRtc({
  port: configuration.webRtcPort,
  hosts: configuration.webRtcHosts,
  bindAddress: outputHost === '0.0.0.0' || outputHost === '::' ? undefined : outputHost,
  log,
})
const supervisor = new Supervisor({
  publisher,
  planner,
  now: clock.now,
  log,
  ports: configuration.outputPorts,
  outputHost,
  screenshots: { store: files, slots: createDecodeSlots(), memory: new KeptMemory() },
  recordings,
  webRtc,
})

const videoUrl = createVideoUrl({ outputHost, tlsOnly: cert !== undefined && key !== undefined && outputTls === 'required' })
const cot = new CotSender({ positions: () => supervisor.positions(), videoUrl, now: clock.now, log })

// What is too old is deleted, also when nothing is recorded any more.
if (existsSync(recordingsDir)) recordings.open().catch((error: unknown) => log.warn('recordings_not_open', { error }))

const rates = new RateHistory()
setInterval(() => rates.sample(supervisor.list(), clock.now()), SAMPLE_MS)

let lastContact = performance.now()
const token = process.env.SVC_ENGINE_TOKEN || randomBytes(32).toString('base64url')
const answers: EngineAnswers = {
  engine: pipelineAnswers(
    supervisor,
    async () => ({
      version: packageJson.version,
      protocol: ENGINE_PROTOCOL,
      gstreamer_version: await gstreamerVersion(),
      pid: process.pid,
      sandbox: sandbox.state,
      warnings: await readHostWarnings(configuration, clock.now),
    }),
    cot,
    (id) => rates.of(id, clock.now()),
  ),
  license: { set: (state) => supervisor.setLicense(state) },
  screenshots: screenshotAnswers({ supervisor, files }),
  recordings: recordingAnswers({ supervisor, recordings, playback: new Playback(recordings) }),
  klv: klvAnswers(supervisor, videoUrl),
  live: liveAnswers(supervisor),
  cameras: cameraAnswers(cameras),
  passwords: passwordAnswers(),
  metrics: { read: createEngineMetrics({ supervisor, publisher, klv: () => supervisor.klvCounts(), cot: () => cot.counts() }) },
}
const server = createEngineServer({
  answers,
  token,
  log,
  moment: () => supervisor.moment,
  onContact: () => {
    lastContact = performance.now()
  },
})

let foundVersion: string | null = null
/** The API process waits for the status no longer than 4 s. */
const VERSION_MS = 3000
/** Version of gst-launch-1.0; looked for until it is found, since it may be installed while the service runs. */
const gstreamerVersion = async (): Promise<string | null> => {
  if (foundVersion !== null) return foundVersion
  // Otherwise it would first scan all plugins, each time where the user has no home for the registry.
  const environment = { GST_REGISTRY_DISABLE: 'yes' }
  const { stdout } = await runToEnd('gst-launch-1.0', ['--version'], { timeoutMs: VERSION_MS, reach: 'host', environment })
  foundVersion = /GStreamer (\S+)/.exec(stdout)?.[1] ?? null
  return foundVersion
}

const announcement = createAnnouncement(configuration.dataDir)

/** Announces the address of this engine to API processes, also to those that start later. */
const announce = (): void => {
  if (closing) return
  // The API process that started this one was killed meanwhile, and the next one has started another.
  if (engineListen === undefined && announcement.isTaken()) return void shutDown('another engine runs')
  const { address: host, family, port } = server.address() as AddressInfo
  const reachable = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '[::1]' : family === 'IPv6' ? `[${host}]` : host
  const address = {
    url: `http://${reachable}:${port}`,
    token,
    pid: process.pid,
    started: processStart('self'),
    version: packageJson.version,
  }
  const fault = announcement.write(address)
  if (fault !== undefined) log.error('engine_not_announced', { error: fault, advice: NOT_ANNOUNCED })
  log.info('engine_started', { pid: process.pid, host, port, version: packageJson.version })
  // The process that started this engine reads the address here when the disk is full. An engine that runs by itself has a known address.
  process.stdout.write(fault === undefined || engineListen !== undefined ? 'ready\n' : `${JSON.stringify(address)}\n`)
}

let closing = false
const shutDown = async (reason: string): Promise<void> => {
  if (closing) return
  closing = true
  log.info('engine_stopping', { reason })
  setTimeout(() => {
    log.error('engine_stop_overdue', { after_ms: CLOSE_WITHIN_MS })
    process.exit(0)
  }, CLOSE_WITHIN_MS).unref()
  // From now on API processes look for the next engine, and do not wait for answers of this one.
  const fault = announcement.remove()
  if (fault !== undefined) log.warn('engine_still_announced', { error: fault })
  server.close()
  server.closeAllConnections()
  cot.close()
  await Promise.all([supervisor.close(), cameras.close()])
  await Promise.all([publisher.close(), recordings.close()])
  // Dry runs and the like: they must not be killed by the end of this process while their sandbox is set up.
  await killAll()
  process.exit(0)
}

for (const signal of SIGNALS) process.on(signal, () => void shutDown(signal))
const { engineListen } = configuration

// An engine that runs by itself goes on through a cut of the network, however long.
if (engineListen === undefined)
  watchSilence({
    heardAt: () => lastContact,
    silenceMs: () => ABANDONED_AFTER_MS,
    onSilent: () => void shutDown('no API process for 60 s'),
  })
setInterval(() => announcement.tryAgain(), ANNOUNCE_EVERY_MS)

listen(server, engineListen ?? { host: '127.0.0.1', port: 0 }, {
  log,
  onListening: announce,
  onRefused: (error) => {
    log.error('engine_cannot_listen', { ...engineListen, error })
    process.exit(EXIT_UNAVAILABLE)
  },
})
