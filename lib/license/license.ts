import { ApiError } from '../errors.ts'
import type { Clock } from '../ports.ts'
import { type License, type LicenseState, licenseSchema } from '../schema/license.ts'
import type { Codec, PipelineConfig } from '../schema/pipeline.ts'
import { validate } from '../validate.ts'

/** Where the license is kept. It is read at each start, so a changed file takes effect at once. */
export interface LicenseSource {
  /** The text of the license file, null when none is configured. Throws when it cannot be read. */
  read(): Promise<string | null>
}

/** Reads the current license; a file that cannot be read or parsed is the state `unreadable`, not an error. */
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

/** `expires` as a date without a time means the end of that day, UTC. */
const isExpired = ({ expires }: License, now: number): boolean => {
  if (expires === null) return false
  const end = Date.parse(expires) + (expires.length === 'yyyy-mm-dd'.length ? DAY_MS : 0)
  return now >= end
}

/** Throws LICENSE_ERROR or LICENSE_LIMIT_EXCEEDED unless the pipeline may start beside `running` others. */
export const requireLicense = (state: LicenseState, config: PipelineConfig, running: number): void => {
  requireCodecs(state, config)
  const limit = state.status === 'valid' ? state.license.max_streams : null
  if (limit === null || running < limit) return
  throw new ApiError('LICENSE_LIMIT_EXCEEDED', `The license allows ${limit} running pipelines. Stop one or extend the license.`, {
    max_streams: limit,
  })
}

/** Throws LICENSE_ERROR unless the license is valid and covers the codecs that the pipeline encodes. */
export const requireCodecs = (state: LicenseState, config: PipelineConfig): void => {
  if (state.status === 'unlimited') return
  if (state.status !== 'valid') {
    throw new ApiError('LICENSE_ERROR', `The license is ${state.status}. Install a valid license.`, { license: state.status })
  }
  const missing = encodedCodecs(config).find((codec) => !state.license.codecs.includes(codec))
  if (missing !== undefined)
    throw new ApiError('LICENSE_ERROR', `The license does not cover the codec ${missing}. Use another codec or extend the license.`, {
      codec: missing,
    })
}

/** GStreamer's encoder elements: x264enc, openh264enc, nvh264enc, vah265enc, v4l2h264enc … */
const ENCODER_ELEMENTS: Readonly<Record<Codec, RegExp>> = {
  h264: /(?:^|[\s!])[a-z0-9]*(?:x|h)264(?:lp|device\w*)?enc\b/i,
  h265: /(?:^|[\s!])[a-z0-9]*(?:x|h)265(?:lp|device\w*)?enc\b/i,
}

/** The codecs a pipeline encodes to; a pass-through stream needs no encoder and no license for a codec. */
export const encodedCodecs = (config: PipelineConfig): readonly Codec[] => {
  if (config.mode === 'simple') return config.encoding === null ? [] : [config.encoding.codec]
  return (Object.keys(ENCODER_ELEMENTS) as Codec[]).filter((codec) => ENCODER_ELEMENTS[codec].test(config.raw_pipeline))
}
