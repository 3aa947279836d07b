import type { Readable } from 'node:stream'
import { type MaskSecrets, maskSecretsOf } from '../../lib/credentials/secrets.ts'
import type { EngineCheck } from '../../lib/engine/messages.ts'
import { ApiError } from '../../lib/errors.ts'
import type { AdvancedConfig, PipelineConfig, SimpleConfig } from '../../lib/schema/pipeline.ts'
import type { EngineSettings } from '../../lib/schema/settings.ts'
import { parseAddress, serverOf } from '../faults/address.ts'
import { Fault, maskFault } from '../faults/fault.ts'
import type { OpenSource } from '../ingest/read-source.ts'
import { type SoundTrack, tracksOf } from '../ingest/tracks.ts'
import { type FoundSound, notCarried } from '../mount/served-sound.ts'
import { parseSource } from '../sources/kinds.ts'
import { probeRtsp, rtsp } from '../sources/rtsp.ts'
import type { Body, SourceHost } from '../sources/source-kind.ts'
import { udp } from '../sources/udp.ts'
import { advancedLaunch } from './advanced.ts'
import { type AdvancedChecks, createAdvancedChecks } from './advanced-checks.ts'
import { type Launch, showLaunch } from './launch.ts'
import { programToRead } from './program.ts'
import { ReadingHistory } from './reading-history.ts'
import { requireElements } from './require-elements.ts'
import { onServerReturn } from './server-return.ts'
import { checkSimple, encoderOf, simpleLaunch } from './simple.ts'
import { soundChoice } from './sound.ts'

/** MPEG-TS or FLV that the engine passes through by itself: what it reads of a stream, or MPEG-TS that an RTSP source carries. */
export type ContainerSource =
  | {
      readonly stream: Readable
      readonly container: NonNullable<Body['container']>
      /** No packet of it can be lost on its way. */
      readonly reliable: boolean
    }
  | { readonly source: OpenSource }

/**
 * What an attempt runs: a child, a source or a container that the engine reads, or one that it reads for a child, as packets or as the
 * body of a response. And what the probe found.
 */
export type Plan = (
  | { readonly launch: Launch; readonly source?: OpenSource; readonly body?: Body }
  | { readonly source: OpenSource }
  | { readonly container: ContainerSource }
) & {
  /** Whether the source carries KLV; null when it is known only from the data. */
  readonly klv: boolean | null
  readonly sound: FoundSound
}

interface Attempt {
  readonly signal: AbortSignal
  readonly timeoutMs: number
  readonly previousFault: Fault | undefined
}

export interface Planner {
  /**
   * Checks a configuration without running it and without probing its source; `reuse`: without another dry run of a description
   * that passed under the same settings. Throws VALIDATION_ERROR.
   */
  readonly check: (config: PipelineConfig, settings: EngineSettings, options?: { readonly reuse?: boolean }) => Promise<EngineCheck>
  /** Probes the source and plans the run for it; the caller runs or closes a source in the plan. The fault of the run before may change the plan. Throws Fault. */
  readonly plan: (config: PipelineConfig, settings: EngineSettings, attempt: Attempt) => Promise<Plan>
  /** Throws ApiError when a pipeline cannot run on this host at all. */
  readonly permit: (config: PipelineConfig) => void
  /** Calls back when a source that is away may be back: a camera was plugged in, or a server accepts connections again. Returns the function that unsubscribes. */
  readonly onReturn: (config: PipelineConfig, callback: () => void) => () => void
}

/** The engine passes MPEG-TS and FLV through by itself, where no sound is to be encoded. */
const passesContainer = (config: SimpleConfig): boolean => config.encoding === null && (soundChoice(config)?.codec ?? 'copy') === 'copy'

/** The engine itself reads an RTSP source that is passed through, and MPEG-TS over UDP. */
const needsChild = (config: SimpleConfig): boolean => {
  const { kind } = parseSource(config.source)
  return config.encoding !== null || !(kind === rtsp || (kind === udp && passesContainer(config)))
}

/** GStreamer quotes parts of a description in its complaints. */
const maskError = (error: unknown, mask: MaskSecrets): unknown => {
  if (error instanceof Fault) return maskFault(error, mask)
  if (error instanceof ApiError) return new ApiError(error.code, mask(error.message), maskAll(error.details, mask), { cause: error.cause })
  return error
}

const maskAll = <T>(value: T, mask: MaskSecrets): T =>
  JSON.parse(JSON.stringify(value), (_, inner: unknown) => (typeof inner === 'string' ? mask(inner) : inner)) as T

interface PlannerOptions extends SourceHost {
  /** Why advanced pipelines cannot run on this host; undefined where they can. */
  readonly advancedRefusal?: ApiError
}

/** Plans launches for the cameras, encoders and permissions of this host. */
export const createPlanner = (options: PlannerOptions): Planner => planner(options, createAdvancedChecks(options), new ReadingHistory())

const planner = (options: PlannerOptions, advanced: AdvancedChecks, history: ReadingHistory): Planner => ({
  check: async (config, settings, reuse) => {
    permit(config, options)
    const mask = maskSecretsOf(config)
    try {
      const launch =
        config.mode === 'advanced' ? await advanced.check(config, settings, reuse) : await checkSimple(config, settings, options)
      if (config.mode === 'simple' && needsChild(config)) await requireElements(launch)
      return { launch: mask(showLaunch(launch)), publishes: launch.publishes, codecs: launch.codecs }
    } catch (error) {
      throw maskError(error, mask)
    }
  },
  plan: (config, settings, attempt) =>
    config.mode === 'advanced'
      ? advanced.checkStart(config, settings, attempt.signal).then(() => ({
          launch: { ...advancedLaunch(config, folderOf(options)), ...soundEncodingOf(config) },
          klv: null,
          sound: config.audio === 'off' ? ('none' as const) : ('unknown' as const),
        }))
      : planSimple(config, settings, { ...options, ...attempt }, history),
  permit: (config) => permit(config, options),
  onReturn: (config, callback) => (config.mode === 'simple' ? onReturn(config, options, callback) : undefined) ?? (() => {}),
})

/** Advanced pipelines run what their author writes, so they need a sandbox, or the operator's consent to go without. */
export const noSandbox = (reason: string): ApiError =>
  new ApiError(
    'FORBIDDEN',
    `Advanced pipelines need a sandbox, and this host has none. ${reason} Or accept the risk with SVC_SANDBOX=off.`,
    { reason: 'no_sandbox' },
  )

const onReturn = ({ source }: SimpleConfig, host: PlannerOptions, callback: () => void): (() => void) | undefined => {
  const { kind, parsed } = parseSource(source)
  const server = serverOf(parsed.address)
  return server === undefined ? kind.onReturn?.(host, callback) : onServerReturn(server, callback)
}

const permit = (config: PipelineConfig, { advancedRefusal }: PlannerOptions): void => {
  if (config.mode === 'advanced' && advancedRefusal !== undefined) throw advancedRefusal
}

const folderOf = ({ allowFiles }: PlannerOptions): string | undefined => (typeof allowFiles === 'string' ? allowFiles : undefined)

const planSimple = async (
  config: SimpleConfig,
  settings: EngineSettings,
  { previousFault, ...context }: SourceHost & Attempt,
  history: ReadingHistory,
): Promise<Plan> => {
  const { source, encoding } = config
  const { kind, parsed } = parseSource(source)
  const program = programToRead(previousFault)
  if (kind === rtsp) {
    history.noteFault(source.uri, previousFault)
    return planRtsp(config, settings, { ...context, transport: history.transport(source.uri), program })
  }
  const facts = { ...(await kind.probe(parsed, { ...context, reencode: encoding !== null })), program }
  const { body, klv } = facts
  if (body?.container !== undefined && passesContainer(config))
    return {
      container: { stream: body.stream, container: body.container, reliable: kind !== udp },
      klv,
      sound: config.audio === 'off' ? 'none' : 'unknown',
    }
  try {
    return {
      launch: simpleLaunch(config, facts, await encoderOf(config, settings)),
      klv,
      sound: config.audio === 'off' ? 'none' : 'unknown',
      ...(body && { body }),
    }
  } catch (error) {
    body?.stream.destroy()
    throw error
  }
}

interface RtspAttempt extends Omit<Attempt, 'previousFault'> {
  readonly transport: OpenSource['transport']
  readonly program: number | undefined
}

/** The engine goes on over the connection of the description. Only what is re-encoded needs a child, and MPEG-TS whose sound is encoded. */
const planRtsp = async (config: SimpleConfig, settings: EngineSettings, { transport, program, ...context }: RtspAttempt): Promise<Plan> => {
  const { described, facts } = await probeRtsp(parseAddress(config.source.uri), context)
  try {
    const source = {
      described,
      tracks: tracksOf(described, { reencode: config.encoding !== null, sound: wantedSound(config) }),
      transport,
      waitMs: config.source.latency_ms,
    }
    // The sound inside MPEG-TS is known only from its data.
    const sound = facts.video === 'MP2T' && config.audio !== 'off' ? 'unknown' : foundSound(source.tracks.sound)
    if (facts.video === 'MP2T' && passesContainer(config)) return { container: { source }, klv: facts.klv, sound }
    if (config.encoding === null && facts.video !== 'MP2T') return { source, klv: facts.klv, sound }
    return { source, launch: simpleLaunch(config, { ...facts, program }, await encoderOf(config, settings)), klv: facts.klv, sound }
  } catch (error) {
    described.connection.close()
    throw error
  }
}

const soundEncodingOf = (config: AdvancedConfig) => {
  const choice = soundChoice(config)
  return choice === undefined || choice.codec === 'copy' ? {} : { soundEncoding: choice }
}

const wantedSound = (config: SimpleConfig) => {
  const choice = soundChoice(config)
  return choice && { ...choice, isExact: config.audio_bitrate !== null }
}

const foundSound = (sound: SoundTrack | undefined): FoundSound => {
  if (sound === undefined) return 'none'
  if (sound.track !== undefined) return 'unknown'
  const { codec, rate, channels } = sound
  return notCarried({ codec, rate, channels })
}
