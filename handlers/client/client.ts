import type * as v from 'valibot'
import type { Call } from '../../lib/openapi/call.ts'
import type { cameraCapabilitiesSchema, cameraSchema } from '../../lib/schema/camera.ts'
import type { healthSchema } from '../../lib/schema/health.ts'
import type { klvPacketSchema } from '../../lib/schema/klv.ts'
import type { logLineSchema } from '../../lib/schema/log.ts'
import type { pipelineSchema } from '../../lib/schema/pipeline.ts'
import type { pipelineRepresentationSchema } from '../../lib/schema/representation.ts'
import type { screenshotRecordSchema } from '../../lib/schema/screenshot.ts'
import type { settingsPatchSchema, settingsSchema } from '../../lib/schema/settings.ts'
import { follow, type Reconnect, type StreamEvent } from './follow.ts'
import { OPERATIONS, type Operations } from './operations.ts'
import { type CallArguments, type ClientOptions, contentOf, send } from './send.ts'

export { ApiError, type ApiErrorCode } from './api-error.ts'
export type { Reconnect, StreamEvent } from './follow.ts'
export { type ClientOptions, etagOf } from './send.ts'

export type Pipeline = v.InferOutput<typeof pipelineRepresentationSchema>
/** Body of create. */
export type PipelineRequest = v.InferInput<typeof pipelineSchema>
export type Settings = v.InferOutput<typeof settingsSchema>
/** Body of a change of the settings. */
export type SettingsChange = v.InferInput<typeof settingsPatchSchema>
export type Screenshot = v.InferOutput<typeof screenshotRecordSchema>
export type Camera = v.InferOutput<typeof cameraSchema>
export type CameraCapabilities = v.InferOutput<typeof cameraCapabilitiesSchema>
export type KlvPacket = v.InferOutput<typeof klvPacketSchema>
export type LogLine = v.InferOutput<typeof logLineSchema>
export type Health = v.InferOutput<typeof healthSchema>

/** Arguments of every method. */
interface Common {
  /** Ends the request or the stream. */
  readonly signal?: AbortSignal | undefined
}

interface Following extends Common {
  /** Called whenever the stream opens, before its events. */
  readonly onConnect?: (() => void) | undefined
  /** Called after a lost stream, before it is reopened. */
  readonly onReconnect?: ((reconnect: Reconnect) => void) | undefined
}

type Method<C extends Call> =
  C['result'] extends AsyncIterable<unknown>
    ? Taking<C['input'] & Following, C['result']>
    : Taking<C['input'] & Common, Promise<C['result']>>

type Taking<Given, Result> = Partial<Given> extends Given ? (given?: Given) => Result : (given: Given) => Result

/** A method for each operation of the API, under its operationId. */
export type Client = { readonly [Name in keyof Operations]: Method<Operations[Name]> }

/**
 * A client of the service, for Node.js, browsers and workers. Methods take one object with the fields of path and query,
 * `body`, `ifMatch` and `signal`; they answer JSON as values, pictures and media as a Response, and event streams as async
 * iterables that reconnect. They throw ApiError, or what `fetch` throws. Throws TypeError for a URL that is not HTTP.
 */
export const createClient = (options: ClientOptions): Client => {
  checkUrl(options)
  return Object.fromEntries(
    Object.entries(OPERATIONS).map(([name, line]) => [
      name,
      line.endsWith(' events')
        ? (given: CallArguments = {}) => events(options, line, given)
        : async (given: CallArguments = {}) => contentOf(await send(options, line, given)),
    ]),
  ) as unknown as Client
}

/** `fetch` would fail only at the first request, and without a reason. */
const checkUrl = ({ url }: Partial<ClientOptions> = {}): void => {
  const isUrl = typeof url === 'string' || url instanceof URL
  // In localhost:8080 the host name would be parsed as the scheme.
  if (!isUrl || /^(?!https?:\/\/)[\w.-]+:/i.test(String(url)))
    throw new TypeError('Pass createClient an object with the url of the service, which begins with http:// or https://')
}

/** The stream of a pipeline ends when the pipeline is deleted. */
const isEndOf =
  (line: string) =>
  ({ event }: StreamEvent): boolean =>
    event === 'pipeline_not_found' && line.includes('/:id/')

const events = (options: ClientOptions, line: string, { onConnect, onReconnect, lastEventId, signal, ...given }: CallArguments) =>
  follow({
    open: (after, connection) => send(options, line, { ...given, lastEventId: after, signal: connection }),
    isLast: isEndOf(line),
    lastEventId: lastEventId as string | undefined,
    signal,
    onConnect: onConnect as Following['onConnect'],
    onReconnect: onReconnect as Following['onReconnect'],
  })
