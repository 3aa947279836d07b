import { ApiError } from '../../../lib/errors.ts'
import { redact } from '../../../lib/redact.ts'
import { runFilter } from '../../gst/child.ts'
import type { RtpCaps } from '../../rtp/caps.ts'
import { lastJpeg } from '../jpeg/jpeg.ts'
import { decoderLine, hasOwnDecoder, type PictureFormat } from './line.ts'

/** A decoder that takes longer hangs, and is killed. The longest GOP that is cached takes a few seconds. */
const DECODE_TIMEOUT_MS = 15_000
const MAX_JPEG_BYTES = 64 * 1024 * 1024
/** setpriv(1) runs nice(1), which runs the decoder: streams and API go first. */
const NICENESS = ['-n', '10'] as const

const NO_ELEMENT = /no element "([^"]{1,64})"/

export interface DecodeJob extends PictureFormat {
  readonly caps: RtpCaps
  /** One access unit or a whole GOP, RFC 4571 framed. */
  readonly media: Buffer
  readonly single: boolean
  readonly timeoutMs?: number
  readonly signal?: AbortSignal
}

export interface DecodedPicture {
  readonly jpeg: Buffer
  readonly width: number
  readonly height: number
}

/** The newest picture of a GOP as JPEG. ENGINE_ERROR with `details.reason` when it cannot be decoded, SERVICE_UNAVAILABLE without GStreamer. */
export const decodePicture = async (job: DecodeJob): Promise<DecodedPicture> => {
  const attempts = [
    { single: job.single, generic: false },
    // Two access units can be one picture (fields), which the line for many would let go as the first.
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
  throw failure ?? new ApiError('ENGINE_ERROR', 'No picture could be decoded.', { reason: 'decoder_failed' })
}

const attemptDecode = async (job: DecodeJob & { readonly generic: boolean }): Promise<DecodedPicture | ApiError> => {
  const timeoutMs = job.timeoutMs ?? DECODE_TIMEOUT_MS
  const result = await runFilter('nice', [...NICENESS, 'gst-launch-1.0', ...decoderLine(job)], {
    input: job.media,
    timeoutMs,
    maxOutputBytes: MAX_JPEG_BYTES,
    reach: {},
    ...(job.signal && { signal: job.signal }),
  })
  if (result.missing)
    return new ApiError('SERVICE_UNAVAILABLE', 'The media engine is not installed on this host.', { reason: 'engine_missing' })
  if (result.timedOut) {
    return new ApiError('ENGINE_ERROR', `The picture was not decoded within ${timeoutMs / 1000} s.`, { reason: 'decoder_hung' })
  }
  const picture = lastJpeg(result.stdout)
  if (picture !== undefined) return picture
  const element = NO_ELEMENT.exec(result.stderr)?.[1]
  if (element !== undefined) {
    return new ApiError('ENGINE_ERROR', `The media engine lacks the element ${element}.`, { reason: 'missing_element' })
  }
  const cause = redact(result.stderr.split('\n').find((line) => line.startsWith('ERROR')) ?? '').slice(0, 300)
  return new ApiError('ENGINE_ERROR', 'No picture could be decoded from the stream.', { reason: 'decoder_failed', ...(cause && { cause }) })
}
