import type { Engine } from '../engine/protocol.ts'
import { ApiError, messageOf } from '../errors.ts'
import type { Clock } from '../ports.ts'
import { type License, type LicenseState, licenseSchema } from '../schema/license.ts'
import type { Codec, PipelineConfig } from '../schema/pipeline.ts'
import { validate } from '../validate.ts'

/** Reads the license; it is read at each start of a pipeline, so a changed file takes effect at once. */
export interface LicenseSource {
  /** The text of the license file, null when none is configured. Throws when it cannot be read. */
  read(): Promise<string | null>
}

/** The license, null when none is configured. Throws when it cannot be read or is not valid. */
const loadLicense = async (source: LicenseSource): Promise<License | null> => {
  const text = await source.read()
  return text === null ? null : validate(licenseSchema, JSON.parse(text), 'license')
}

/** The state of the license; `unreadable` when the file cannot be read or parsed. */
export const readLicense = async (source: LicenseSource, clock: Clock): Promise<LicenseState> => {
  try {
    const license = await loadLicense(source)
    if (license === null) return { status: 'unlimited' }
    return isExpired(license, clock.now()) ? { status: 'expired' } : { status: 'valid', license }
  } catch {
    return { status: 'unreadable' }
  }
}

/** Why the license allows no start, for the operator, since it may quote the file; undefined when it allows starts. */
export const licenseFault = async (source: LicenseSource, clock: Clock): Promise<string | undefined> => {
  try {
    const license = await loadLicense(source)
    return license !== null && isExpired(license, clock.now()) ? `It expired on ${license.expires}.` : undefined
  } catch (error) {
    return messageOf(error)
  }
}

/** What to do about a license that is not valid. */
export const LICENSE_ADVICE = 'install a valid license; no pipeline starts until then'

const DAY_MS = 86_400_000

/** `expires` as a date without a time means the end of that day, UTC. */
const isExpired = ({ expires }: License, now: number): boolean => {
  if (expires === null) return false
  const end = Date.parse(expires) + (expires.length === 'yyyy-mm-dd'.length ? DAY_MS : 0)
  return now >= end
}

/** Throws LICENSE_ERROR or LICENSE_LIMIT_EXCEEDED unless a pipeline that encodes to these codecs may start beside `running` others. */
export const requireLicense = (state: LicenseState, codecs: readonly Codec[], running: number): void => {
  requireCodecs(state, codecs)
  const limit = state.status === 'valid' ? state.license.max_streams : null
  if (limit === null || running < limit) return
  throw new ApiError(
    'LICENSE_LIMIT_EXCEEDED',
    `The license allows ${limit} running ${limit === 1 ? 'pipeline' : 'pipelines'}. Stop one or extend the license.`,
    {
      max_streams: limit,
    },
  )
}

/** Throws LICENSE_ERROR unless the license is valid and covers these codecs. */
export const requireCodecs = (state: LicenseState, codecs: readonly Codec[]): void => {
  if (state.status === 'unlimited') return
  if (state.status !== 'valid') {
    throw new ApiError('LICENSE_ERROR', `The license is ${state.status}. Install a valid license.`, { license: state.status })
  }
  const missing = codecs.find((codec) => !state.license.codecs.includes(codec))
  if (missing !== undefined)
    throw new ApiError('LICENSE_ERROR', `The license does not cover the codec ${missing}. Use another codec or extend the license.`, {
      codec: missing,
    })
}

/**
 * The codecs that a pipeline needs a license for: those that it encodes to. An advanced pipeline needs a dry run by the engine, since
 * its text does not show them (`encodebin` chooses its encoder).
 */
export const licensedCodecs = async (
  state: LicenseState,
  engine: Pick<Engine, 'check'>,
  config: PipelineConfig,
): Promise<readonly Codec[]> => {
  if (state.status !== 'valid') return []
  if (config.mode === 'advanced') return (await engine.check(config)).codecs
  return config.encoding === null ? [] : [config.encoding.codec]
}
