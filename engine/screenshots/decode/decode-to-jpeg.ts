import { ApiError } from '../../../lib/errors.ts'
import { redact } from '../../../lib/redact.ts'
import { runFilter } from '../../gst/child.ts'
import { type GdpBuffer, GdpReader, gdpBuffers } from '../../gst/gdp.ts'
import type { AccessUnit } from '../../rtp/access-unit.ts'
import { wholeJpeg } from '../jpeg/jpeg.ts'
import { type DecoderFormat, hasOwnDecoder, toDecoder } from './decoder-line.ts'

/** A decoder that takes longer is killed. The longest cached GOP takes a few seconds. */
const DECODE_TIMEOUT_MS = 15_000
export const MAX_JPEG_BYTES = 64 * 1024 * 1024

const NO_ELEMENT = /no element "([^"]{1,64})"/

interface DecodeJob extends Omit<DecoderFormat, 'generic' | 'kept'> {
  /** One access unit or a whole GOP. */
  readonly units: readonly Pick<AccessUnit, 'packets'>[]
  readonly timeoutMs?: number
  readonly signal?: AbortSignal
}

export interface DecodedJpeg {
  readonly jpeg: Buffer
  readonly width: number
  readonly height: number
}

/** Decodes the newest picture of a GOP to JPEG. ENGINE_ERROR with `details.reason` when that fails, SERVICE_UNAVAILABLE without GStreamer. */
export const decodeToJpeg = async (job: DecodeJob): Promise<DecodedJpeg> => {
  const attempts = [
    { single: job.single, generic: false },
    // Two access units can be the fields of one picture, which the line for several units would drop as the first.
    ...(job.single ? [] : [{ single: true, generic: false }]),
    ...(hasOwnDecoder(job.caps) ? [{ single: true, generic: true }] : []),
  ]
  let failure: ApiError | undefined
  for (const attempt of attempts) {
    const outcome = await attemptDecode({ ...job, ...attempt })
    if (!(outcome instanceof ApiError)) return outcome
    failure = outcome
    if (outcome.details.reason === 'decoder_hung' || outcome.code === 'SERVICE_UNAVAILABLE') break
  }
  throw failure
}

const attemptDecode = async (job: DecodeJob & { readonly generic: boolean }): Promise<DecodedJpeg | ApiError> => {
  const timeoutMs = job.timeoutMs ?? DECODE_TIMEOUT_MS
  const { command, start } = toDecoder(job)
  const [file, ...args] = command
  const result = await runFilter(file, args, {
    input: Buffer.concat([start, ...job.units.map((unit) => gdpBuffers(unit.packets()))]),
    timeoutMs,
    maxOutputBytes: MAX_JPEG_BYTES,
    reach: {},
    ...(job.signal && { signal: job.signal }),
  })
  if (result.missing)
    return new ApiError('SERVICE_UNAVAILABLE', 'GStreamer is not installed on this host. Install it and try again.', {
      reason: 'engine_missing',
    })
  if (result.timedOut) {
    return new ApiError('ENGINE_ERROR', `The screenshot was not decoded within ${timeoutMs / 1000} s. Try again.`, {
      reason: 'decoder_hung',
    })
  }
  const jpeg = lastPicture(result.stdout)
  if (jpeg !== undefined) return jpeg
  const element = NO_ELEMENT.exec(result.stderr)?.[1]
  if (element !== undefined) {
    return new ApiError('ENGINE_ERROR', `GStreamer has no element "${element}" on this host. Install its plugin.`, {
      reason: 'missing_element',
    })
  }
  const cause = redact(result.stderr.split('\n').find((line) => line.startsWith('ERROR')) ?? '').slice(0, 300)
  return new ApiError('ENGINE_ERROR', 'The stream could not be decoded. Check its codec and try again.', {
    reason: 'decoder_failed',
    ...(cause && { cause }),
  })
}

/** Undefined without a whole JPEG: the output was cut, or nothing could be decoded. */
export const lastPicture = (output: Buffer): DecodedJpeg | undefined => {
  let last: Buffer | undefined
  const onBuffer = ({ payload }: GdpBuffer): void => {
    last = payload
  }
  new GdpReader(MAX_JPEG_BYTES, { onBuffer }).push(output)
  return last && wholeJpeg(last)
}
