import type { Engine } from '../engine/protocol.ts'
import { ApiError } from '../errors.ts'
import type { Clock } from '../ports.ts'
import { type License, type LicenseState, licenseSchema } from '../schema/license.ts'
import type { Codec, PipelineConfig, PipelineView } from '../schema/pipeline.ts'
import { validate } from '../validate.ts'

/** Where the license is kept; read at each start, so that a changed file counts at once. */
export interface LicenseSource {
  /** The text of the license file, null when none is configured. Throws when it cannot be read. */
  read(): Promise<string | null>
}

/** A place among the licensed streams; held from the check until the engine itself shows the start. */
export interface Slot {
  release(): void
}

export interface Licensing {
  state(): Promise<LicenseState>
  /** LICENSE_ERROR unless the codecs this pipeline encodes are licensed. */
  allow(config: PipelineConfig): Promise<void>
  /** As `allow`, and takes a place for a start; LICENSE_LIMIT_EXCEEDED when none is left. A pipeline that runs already keeps its own. */
  admit(config: PipelineConfig): Promise<Slot>
}

const FREE: Slot = { release: () => undefined }

/** Phases that hold a child process, or will again by themselves. */
const RUNNING: ReadonlySet<string> = new Set(['starting', 'playing', 'reconnecting', 'stopping'])

const isRunning = (view: PipelineView): boolean => RUNNING.has(view.runtime.phase)

/** Keeps the count of running pipelines exact while many start at once. */
export const createLicensing = (deps: { source: LicenseSource; engine: Engine; clock: Clock }): Licensing => {
  const state = () => readLicense(deps.source, deps.clock)
  const reserved = new Map<string, number>()
  let turn: Promise<unknown> = Promise.resolve()

  const reserve = (id: string): Slot => {
    reserved.set(id, (reserved.get(id) ?? 0) + 1)
    return {
      release: () => {
        const left = (reserved.get(id) ?? 1) - 1
        if (left === 0) reserved.delete(id)
        else reserved.set(id, left)
      },
    }
  }

  const admitInTurn = async (config: PipelineConfig, current: LicenseState): Promise<Slot> => {
    // A start that ends while the list is on its way may be in neither: count those reserved at its beginning too.
    const counted = new Set(reserved.keys())
    for (const view of await deps.engine.list()) if (isRunning(view)) counted.add(view.id)
    for (const id of reserved.keys()) counted.add(id)
    if (counted.has(config.id)) return reserve(config.id)
    requireLicense(current, config, counted.size)
    return reserve(config.id)
  }

  return {
    state,
    allow: async (config) => requireCodecs(await state(), config),
    admit: async (config) => {
      const current = await state()
      if (current.status === 'unlimited') return FREE
      const admitted = turn.then(() => admitInTurn(config, current))
      turn = admitted.catch(() => undefined)
      return admitted
    },
  }
}

/** Reads the license as it is now; a file that cannot be read or understood never throws, it licenses nothing. */
export const readLicense = async (source: LicenseSource, clock: Clock): Promise<LicenseState> => {
  try {
    const text = await source.read()
    if (text === null) return { status: 'unlimited' }
    const license = validate(licenseSchema, JSON.parse(text), 'license')
    return isExpired(license, clock.now()) ? { status: 'expired' } : { status: 'valid', license }
  } catch {
    return { status: 'unreadable' }
  }
}

const DAY_MS = 86_400_000

/** A license that names a day is valid until that day ends (UTC). */
const isExpired = ({ expires }: License, now: number): boolean => {
  if (expires === null) return false
  const end = Date.parse(expires) + (expires.length === 'yyyy-mm-dd'.length ? DAY_MS : 0)
  return now >= end
}

/** Whether one more pipeline may start while so many others run. Throws LICENSE_ERROR or LICENSE_LIMIT_EXCEEDED. */
export const requireLicense = (state: LicenseState, config: PipelineConfig, running: number): void => {
  requireCodecs(state, config)
  const limit = state.status === 'valid' ? state.license.max_streams : null
  if (limit === null || running < limit) return
  throw new ApiError('LICENSE_LIMIT_EXCEEDED', `The license allows ${limit} running pipelines. Stop one, or extend the license.`, {
    max_streams: limit,
  })
}

const requireCodecs = (state: LicenseState, config: PipelineConfig): void => {
  if (state.status === 'unlimited') return
  if (state.status !== 'valid') {
    throw new ApiError('LICENSE_ERROR', `The license is ${state.status}. Put a valid one in its place.`, { license: state.status })
  }
  const missing = encodedCodecs(config).find((codec) => !state.license.codecs.includes(codec))
  if (missing !== undefined) throw new ApiError('LICENSE_ERROR', `The license does not cover the codec ${missing}.`, { codec: missing })
}

/** GStreamer's encoder elements: x264enc, openh264enc, nvh264enc, vah265enc, v4l2h264enc … */
const ENCODER_ELEMENTS: Readonly<Record<Codec, RegExp>> = {
  h264: /(?:^|[\s!])[a-z0-9]*(?:x|h)264(?:lp|device\w*)?enc\b/i,
  h265: /(?:^|[\s!])[a-z0-9]*(?:x|h)265(?:lp|device\w*)?enc\b/i,
}

/** The codecs a pipeline encodes to; a passed-through stream needs no encoder and so no license for one. */
export const encodedCodecs = (config: PipelineConfig): readonly Codec[] => {
  if (config.mode === 'simple') return config.encoding === null ? [] : [config.encoding.codec]
  return (Object.keys(ENCODER_ELEMENTS) as Codec[]).filter((codec) => ENCODER_ELEMENTS[codec].test(config.raw_pipeline))
}
