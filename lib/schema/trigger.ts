import * as v from 'valibot'
import { type AudioMode, pipelineIdSchema, type SimpleConfig } from './pipeline.ts'

// Control characters are refused; `encodePath` percent-encodes other characters that a URI cannot have.
// biome-ignore lint/suspicious/noControlCharactersInRegex: refusing them is the point
const CONTROL = /[\u0000-\u001f\u007f]/

const isDotSegment = (segment: string): boolean => segment === '.' || segment === '..'

const pathSchema = v.pipe(
  v.string('Use a string'),
  v.maxLength(1024, 'Use at most 1024 characters'),
  v.check((path) => !CONTROL.test(path), 'Use a path without control characters'),
  // A URL or a query could bring credentials into ids, addresses and logs.
  v.check((path) => !path.includes('://'), 'Use the path of the stream on the media server, not its address'),
  v.check((path) => !path.includes('?'), 'Use the path without a query'),
  // Clients remove dot segments from a URL (RFC 3986 section 5.2.4).
  v.check((path) => !path.split('/').some(isDotSegment), 'Use a path without the segments . and ..'),
  v.description('Path of the stream on the media server, such as drone/7'),
  v.transform((path) => path.replace(/^\/+/, '')),
  v.minLength(1, 'Use the path of the stream on the media server'),
)

/** Query of publish and unpublish: the path of the stream on the media server, and an optional pipeline id. */
export const triggerQuerySchema = v.pipe(
  v.strictObject({ path: pathSchema, pipelineId: v.optional(pipelineIdSchema) }),
  v.forward(
    v.check(
      ({ path, pipelineId }) => pipelineId !== undefined || derivedId(path) !== '',
      'No pipeline id can be derived from the path; use pipelineId',
    ),
    ['path'],
  ),
  v.forward(
    v.check(
      ({ path, pipelineId }) => pipelineId !== undefined || derivedId(path).length <= 64,
      'The derived pipeline id has more than 64 characters; use pipelineId',
    ),
    ['path'],
  ),
  v.transform(({ path, pipelineId }): Trigger => ({ path, id: pipelineId ?? derivedId(path) })),
)

/** A stream of the media server and its pipeline. */
export interface Trigger {
  /** Without leading slashes, not percent-encoded. */
  readonly path: string
  readonly id: string
}

/** The address of the media server; an IPv6 host is in brackets. */
export interface MediaServer {
  readonly host: string
  readonly port: number
}

/** Answer of publish and unpublish. */
export const triggerAnswerSchema = v.object({ status: v.literal('ok'), pipelineId: pipelineIdSchema, action: v.picklist(['play', 'stop']) })

export type TriggerAnswer = Readonly<v.InferOutput<typeof triggerAnswerSchema>>

/** A path without the characters that an id cannot have; they are removed, not replaced. */
const derivedId = (path: string): string => path.replace(/[^a-zA-Z0-9_-]/g, '')

/** The configuration of a triggered pipeline: 1080p30 H.264 for every source, with its KLV. */
export const triggeredConfig = ({ id, path }: Trigger, mediaServer: MediaServer, audio: AudioMode): SimpleConfig => ({
  id,
  mode: 'simple',
  on_demand: false,
  source: { uri: `rtsp://${mediaServer.host}:${mediaServer.port}/${encodePath(path)}`, latency_ms: 200 },
  encoding: { codec: 'h264', bitrate: 2000, width: 1920, height: 1080, fps: 30, quality: 7 },
  output: null,
  klv_config: { pass_klv: true, auto_extract_geolocation: true, synchronous: false },
  audio,
  audio_bitrate: null,
  push: [],
  ephemeral: true,
})

/**
 * Percent-encodes only what RFC 3986 section 3.3 does not allow in a path: for some RTSP servers `%40` and `@` differ.
 */
const encodePath = (path: string): string => path.replace(/[^A-Za-z0-9\-._~!$&'()*+,;=:@/]+/g, encodeURIComponent)
