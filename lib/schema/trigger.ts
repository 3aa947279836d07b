import * as v from 'valibot'
import { pipelineIdSchema, type SimpleConfig } from './pipeline.ts'

// A control character in a path is a mistake of the caller; what else a URI cannot hold is percent-encoded.
// biome-ignore lint/suspicious/noControlCharactersInRegex: refusing them is the point
const CONTROL = /[\u0000-\u001f\u007f]/

const isDotSegment = (segment: string): boolean => segment === '.' || segment === '..'

const pathSchema = v.pipe(
  v.string('Use a string'),
  v.maxLength(1024, 'Use at most 1024 characters'),
  v.check((path) => !CONTROL.test(path), 'Use a path without control characters'),
  // Both would carry credentials into ids, addresses and logs.
  v.check((path) => !path.includes('://'), 'Use the path of the stream on the media server, not its address'),
  v.check((path) => !path.includes('?'), 'Use the path without a query'),
  // RFC 3986 section 5.2.4: no address can name them, every client removes them.
  v.check((path) => !path.split('/').some(isDotSegment), 'Use a path without the segments . and ..'),
  v.description('Path of the stream on the media server, such as drone/7'),
  v.transform((path) => path.replace(/^\/+/, '')),
  v.minLength(1, 'Use the path of the stream on the media server'),
)

/** Query of publish and unpublish: the stream's path on the media server and, perhaps, an id of the caller's choice. */
export const triggerQuerySchema = v.pipe(
  v.strictObject({ path: pathSchema, pipelineId: v.optional(pipelineIdSchema) }),
  v.forward(
    v.check(({ path, pipelineId }) => pipelineId !== undefined || derivedId(path) !== '', 'No pipeline id can be derived: give pipelineId'),
    ['path'],
  ),
  v.forward(
    v.check(
      ({ path, pipelineId }) => pipelineId !== undefined || derivedId(path).length <= 64,
      'The derived pipeline id has more than 64 characters: give pipelineId',
    ),
    ['path'],
  ),
  v.transform(({ path, pipelineId }): Trigger => ({ path, id: pipelineId ?? derivedId(path) })),
)

/** A stream of the media server and the pipeline that belongs to it. */
export interface Trigger {
  /** Without leading slashes, not percent-encoded. */
  readonly path: string
  readonly id: string
}

/** Where the media server's streams are read; an IPv6 host stands in brackets. */
export interface MediaServer {
  readonly host: string
  readonly port: number
}

/** Answer of publish and unpublish. */
export const triggerAnswerSchema = v.object({ status: v.literal('ok'), pipelineId: pipelineIdSchema, action: v.picklist(['play', 'stop']) })

export type TriggerAnswer = Readonly<v.InferOutput<typeof triggerAnswerSchema>>

/** A path with every character removed that an id cannot have; separators and dots go, nothing takes their place. */
const derivedId = (path: string): string => path.replace(/[^a-zA-Z0-9_-]/g, '')

/** What a stream becomes: always 1080p30 H.264, whatever the source is, with its KLV. */
export const triggeredConfig = ({ id, path }: Trigger, mediaServer: MediaServer): SimpleConfig => ({
  id,
  mode: 'simple',
  on_demand: false,
  source: { uri: `rtsp://${mediaServer.host}:${mediaServer.port}/${encodePath(path)}`, latency_ms: 200 },
  encoding: { codec: 'h264', bitrate: 2000, width: 1920, height: 1080, fps: 30, quality: 7 },
  output: null,
  klv_config: { pass_klv: true, auto_extract_geolocation: true },
  ephemeral: true,
})

/**
 * Percent-encodes what RFC 3986 section 3.3 does not allow in a path, and nothing else: some RTSP servers
 * compare `%40` and `@` as they are written.
 */
const encodePath = (path: string): string => path.replace(/[^A-Za-z0-9\-._~!$&'()*+,;=:@/]+/g, encodeURIComponent)
