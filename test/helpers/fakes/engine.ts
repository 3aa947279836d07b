import { maskUri } from '../../../lib/credentials/mask.ts'
import type { LogLine, NumberedEvent } from '../../../lib/engine/messages.ts'
import { ENGINE_PROTOCOL, type Engine } from '../../../lib/engine/protocol.ts'
import { ApiError } from '../../../lib/errors.ts'
import type { RateSample } from '../../../lib/schema/log.ts'
import { CODECS, type Codec, type Phase, type PipelineConfig, type PipelineView } from '../../../lib/schema/pipeline.ts'
import { DEFAULT_SETTINGS, DENIED_ELEMENTS, type EngineSettings } from '../../../lib/schema/settings.ts'
import { parseOutputUri } from '../../../lib/uri/output-address.ts'
import { streamAddressOf } from '../../../lib/uri/stream-address.ts'
import { pipelineView } from './pipeline-view.ts'

interface Held {
  config: PipelineConfig
  phase: Phase
  desired: 'ready' | 'playing'
  starting: Promise<void> | undefined
}

/** An Engine without media: the rules of the port are real, the streams are not. */
export interface FakeEngine extends Engine {
  /** Every call that reached the engine, as `method id`. */
  readonly calls: string[]
  /** The settings last handed over. */
  settings(): EngineSettings | undefined
  /** The configuration held for an id. */
  config(id: string): PipelineConfig | undefined
  ids(): string[]
  /** Whether the engine can be reached at all. */
  reachable: boolean
  /** Whether gst-launch-1.0 is installed. */
  installed: boolean
  allowFileSources: boolean
  /** What every dry run ends with. */
  checkFault: ApiError | undefined
  /** What the next start of this pipeline ends with, until cleared. */
  readonly startFaults: Map<string, ApiError>
  /** Starts of this pipeline wait for the promise. */
  readonly startGates: Map<string, Promise<void>>
  /** What every pipeline's log holds. */
  logLines: LogLine[]
  /** What every pipeline's history holds. */
  samples: RateSample[]
  /** The sidecar died and another took its place: it knows nothing. */
  restart(): void
  /** Registers a pipeline behind the service's back. */
  plant(config: PipelineConfig, phase: Phase): void
}

const FIRST_PORT = 50000
const LAST_PORT = 55000
const RUNNING: ReadonlySet<Phase> = new Set(['starting', 'playing', 'reconnecting', 'stopping'])

export const createFakeEngine = (): FakeEngine => {
  const pipelines = new Map<string, Held>()
  const calls: string[] = []
  let settings: EngineSettings | undefined

  const reach = (method: string, id = ''): void => {
    calls.push(`${method} ${id}`.trim())
    if (!fake.reachable) throw new ApiError('SERVICE_UNAVAILABLE', 'The media engine does not answer. Try again in a moment.')
  }
  const held = (id: string): Held => {
    const found = pipelines.get(id)
    if (found === undefined) throw new ApiError('NOT_FOUND', `The engine has no pipeline ${id}.`)
    return found
  }
  const launchOf = (config: PipelineConfig): string => {
    refuse(config, settings ?? DEFAULT_SETTINGS, fake.allowFileSources)
    return `gst-launch-1.0 -v ${config.mode === 'advanced' ? config.raw_pipeline : `rtspsrc location=${config.source.uri.replace(/\/\/.*@/, '//***@')}`}`
  }
  const start = async (id: string, pipeline: Held): Promise<void> => {
    pipeline.phase = 'starting'
    try {
      await fake.startGates.get(id)
      const fault = fake.startFaults.get(id)
      if (fault !== undefined) throw fault
      if (pipeline.phase !== 'starting') throw new ApiError('CONFLICT', `The start of ${id} was cancelled.`, { reason: 'stopped' })
      pipeline.phase = 'playing'
    } catch (error) {
      if (pipeline.phase === 'starting') Object.assign(pipeline, { phase: 'failed', desired: 'ready' })
      throw error
    } finally {
      pipeline.starting = undefined
    }
  }

  const fake: FakeEngine = {
    calls,
    reachable: true,
    installed: true,
    allowFileSources: false,
    checkFault: undefined,
    logLines: [],
    samples: [],
    startFaults: new Map(),
    startGates: new Map(),
    settings: () => settings,
    config: (id) => pipelines.get(id)?.config,
    ids: () => [...pipelines.keys()].sort(),
    restart: () => {
      pipelines.clear()
      settings = undefined
    },
    plant: (config, phase) => {
      pipelines.set(config.id, { config, phase, desired: RUNNING.has(phase) ? 'playing' : 'ready', starting: undefined })
    },
    status: async () => {
      reach('status')
      const playing = [...pipelines.values()].filter((held) => viewOf(held).state === 'playing').length
      return {
        version: '0.1.0',
        protocol: ENGINE_PROTOCOL,
        gstreamer_version: fake.installed ? '1.22.0' : null,
        pid: 4711,
        configured: settings !== undefined,
        playing,
      }
    },
    configure: async (given) => {
      reach('configure')
      settings = structuredClone(given)
    },
    check: async (config) => {
      reach('check', config.id)
      const publishes = config.mode === 'simple' || /\bname=pay0\b/.test(config.raw_pipeline)
      if (fake.checkFault !== undefined) throw fake.checkFault
      return { launch: launchOf(config), publishes, codecs: codecsOf(config) }
    },
    put: async (config, { create }) => {
      reach('put', config.id)
      const existing = pipelines.get(config.id)
      if (create && existing !== undefined)
        throw new ApiError('CONFLICT', `The engine has a pipeline ${config.id} already.`, { reason: 'exists' })
      if (existing !== undefined && RUNNING.has(existing.phase))
        throw new ApiError('CONFLICT', `Pipeline ${config.id} runs. Stop it first.`, { reason: 'running' })
      launchOf(config)
      const assigned = { ...config, output: config.output ?? freeOutput(config, pipelines) }
      pipelines.set(config.id, { config: assigned, phase: 'idle', desired: 'ready', starting: undefined })
      return assigned
    },
    remove: async (id, { force }) => {
      reach('remove', id)
      if (RUNNING.has(held(id).phase) && !force)
        throw new ApiError('CONFLICT', `Pipeline ${id} runs. Stop it first.`, { reason: 'running' })
      pipelines.delete(id)
    },
    play: async (id, { wait }) => {
      reach('play', id)
      const pipeline = held(id)
      pipeline.desired = 'playing'
      if (pipeline.phase !== 'playing') {
        pipeline.starting ??= start(id, pipeline)
        if (wait) await pipeline.starting
        else pipeline.starting.catch(() => undefined)
      }
      return viewOf(pipeline)
    },
    stop: async (id) => {
      reach('stop', id)
      const pipeline = held(id)
      pipeline.desired = 'ready'
      pipeline.phase = 'idle'
      return viewOf(pipeline)
    },
    view: async (id) => {
      reach('view', id)
      return viewOf(held(id))
    },
    list: async () => {
      reach('list')
      return [...pipelines.values()].map(viewOf)
    },
    listRunning: async () => {
      reach('listRunning')
      return [...pipelines.values()].filter(({ phase }) => RUNNING.has(phase)).map(viewOf)
    },
    log: async (id) => {
      reach('log', id)
      held(id)
      return fake.logLines
    },
    logs: async ({ search = '', limit }) => {
      reach('logs')
      const lines = [...pipelines.keys()].flatMap((pipeline_id) => fake.logLines.map((line) => ({ pipeline_id, ...line })))
      return lines.filter(({ line }) => line.includes(search)).slice(-limit)
    },
    history: async (id) => {
      reach('history', id)
      held(id)
      return fake.samples
    },
    async *events(signal): AsyncGenerator<NumberedEvent> {
      reach('events')
      if (!signal.aborted) yield { type: 'begin', engine: 'fake', revision: 0 }
    },
  }
  return fake
}

/** As the elements of the fake's descriptions tell; the real engine sees the elements that GStreamer creates. */
const codecsOf = (config: PipelineConfig): readonly Codec[] => {
  if (config.mode === 'simple') return config.encoding === null ? [] : [config.encoding.codec]
  return CODECS.filter((codec) => config.raw_pipeline.includes(`x${codec.slice(1)}enc`))
}

const viewOf = ({ config, phase, desired }: Held): PipelineView => {
  const view = pipelineView(config.id, { phase, desired })
  const push = config.push.map(({ uri }) => ({
    uri: maskUri(uri),
    state: view.state === 'playing' ? ('sending' as const) : ('idle' as const),
    since: view.runtime.since,
    last_error: null,
    bytes: 0,
  }))
  return { ...view, runtime: { ...view.runtime, push } }
}

const LOCAL_HOSTS: ReadonlySet<string> = new Set(['0.0.0.0', '127.0.0.1', '::', '::1'])

const refuse = (config: PipelineConfig, settings: EngineSettings, allowFileSources: boolean): void => {
  const invalid = (path: string, message: string) =>
    new ApiError('VALIDATION_ERROR', `The pipeline is not valid. ${path}: ${message}`, { issues: [{ path, message }] })
  const output = config.output === null ? undefined : parseOutputUri(config.output.uri)
  if (output !== undefined && !LOCAL_HOSTS.has(output.host)) throw invalid('output.uri', 'Use 0.0.0.0 or an address of this host')
  if (config.mode === 'simple') {
    if (streamAddressOf(config.source.uri).scheme === 'file' && !allowFileSources)
      throw invalid('source.uri', 'Files are not allowed as sources')
    return
  }
  const denied = [...DENIED_ELEMENTS, ...settings.advanced.denied_elements].find((element) =>
    new RegExp(`\\b${element}\\b`).test(config.raw_pipeline),
  )
  if (denied !== undefined) throw invalid('raw_pipeline', `The element ${denied} is not allowed`)
  if (config.raw_pipeline.includes('nosuchelement')) throw invalid('raw_pipeline', 'no element "nosuchelement"')
}

const freeOutput = (config: PipelineConfig, pipelines: ReadonlyMap<string, Held>): { uri: string } | null => {
  if (config.mode === 'advanced' && !/\bname=pay0\b/.test(config.raw_pipeline)) return null
  const taken = new Set(
    [...pipelines.values()].map((other) => (other.config.output === null ? 0 : parseOutputUri(other.config.output.uri)?.port)),
  )
  for (let port = FIRST_PORT; port <= LAST_PORT; port += 1) {
    if (!taken.has(port)) return { uri: `rtsp://0.0.0.0:${port}/${config.id}` }
  }
  throw new ApiError('SERVICE_UNAVAILABLE', 'Every output port is taken.', { reason: 'no_free_port' })
}
