import { ApiError } from '../../../lib/errors.ts'
import type { FleetAnswer } from '../../../lib/fleet/fleet-hosts.ts'
import { errorResponse } from '../../http/respond.ts'
import { streamOf } from '../../http/streams/stream-body.ts'

/** The answer as a message of at most `maxBytes`, else PAYLOAD_TOO_LARGE; an answer that does not end is cancelled. */
export const toAnswer = async (response: Response, maxBytes: number): Promise<FleetAnswer> => {
  const stream = streamOf(response)
  if (stream !== undefined) {
    if ('cancel' in stream) await stream.cancel()
    return tooLarge('This answer does not end, so it cannot be a message. Ask the host itself over HTTP.')
  }
  const bytes = await readUpTo(response, maxBytes)
  const answer = bytes === undefined ? undefined : encode(response, bytes)
  // JSON within JSON may be longer than by itself.
  if (answer === undefined || Buffer.byteLength(JSON.stringify(answer)) > maxBytes)
    return tooLarge(
      `The answer is larger than the ${maxBytes} bytes that fit into a message. Ask for less, ask the host itself over HTTP, or raise max_payload of the NATS servers.`,
    )
  return answer
}

const tooLarge = async (message: string): Promise<FleetAnswer> => {
  const response = errorResponse(new ApiError('PAYLOAD_TOO_LARGE', message, { reason: 'too_large_for_fleet' }))
  return encode(response, Buffer.from(await response.arrayBuffer()))
}

/** The body; undefined when it is larger, and the rest is not read. */
const readUpTo = async ({ body }: Response, maxBytes: number): Promise<Buffer | undefined> => {
  const pieces: Uint8Array[] = []
  let length = 0
  // Leaving the loop cancels the body.
  for await (const piece of body ?? []) {
    length += piece.length
    if (length > maxBytes) return undefined
    pieces.push(piece)
  }
  return Buffer.concat(pieces)
}

const TEXT = /^(?:text\/|application\/(?:xml|x-pem-file|vnd\.apple\.mpegurl|yaml|sdp)\b)/

const encode = ({ status, headers }: Response, bytes: Buffer): FleetAnswer => {
  const type = headers.get('content-type') ?? ''
  // Of a connection, which a message has none of.
  const fields = Object.fromEntries([...headers].filter(([name]) => name !== 'connection'))
  const common = { status, headers: fields }
  if (bytes.length === 0) return { ...common, body: null }
  if (/^application\/(?:[\w.-]{1,64}\+)?json\b/.test(type)) return { ...common, body: JSON.parse(bytes.toString()) }
  return TEXT.test(type) ? { ...common, body: bytes.toString() } : { ...common, body: bytes.toString('base64'), encoding: 'base64' }
}
