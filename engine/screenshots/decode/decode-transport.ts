import { ApiError } from '../../../lib/errors.ts'
import { redact } from '../../../lib/redact.ts'
import { runFilter } from '../../gst/child.ts'
import { type DecodedJpeg, lastPicture, MAX_JPEG_BYTES } from './decode-to-jpeg.ts'
import { type TransportFormat, transportDecoder } from './decoder-line.ts'

const DECODE_TIMEOUT_MS = 15_000

/** Decodes the newest picture of MPEG-TS that begins with a key frame. ENGINE_ERROR with `details.reason` when that fails. */
export const decodeTransport = async (transport: Buffer, format: TransportFormat): Promise<DecodedJpeg> => {
  const [file, ...args] = transportDecoder(format)
  const { stdout, stderr, timedOut, missing } = await runFilter(file, args, {
    input: transport,
    timeoutMs: DECODE_TIMEOUT_MS,
    maxOutputBytes: MAX_JPEG_BYTES,
    reach: {},
  })
  if (missing)
    throw new ApiError('SERVICE_UNAVAILABLE', 'GStreamer is not installed on this host. Install it and try again.', {
      reason: 'engine_missing',
    })
  const picture = lastPicture(stdout)
  if (picture !== undefined) return picture
  const cause = redact(stderr.split('\n').find((line) => line.startsWith('ERROR')) ?? '').slice(0, 300)
  throw new ApiError('ENGINE_ERROR', 'The recording could not be decoded. Try another moment.', {
    reason: timedOut ? 'decoder_hung' : 'decoder_failed',
    ...(cause && { cause }),
  })
}
