import * as v from 'valibot'
import { pipelineIdSchema } from '../schema/pipeline.ts'
import { liveSegmentSchema } from '../schema/primitives.ts'
import { screenshotFileSchema } from '../schema/screenshot.ts'
import { HEADER_COMPONENTS, PARAMETER_COMPONENTS, requestHeaders } from './headers.ts'
import type { Body, Fields, Operation } from './operation.ts'
import { documentedResponses, toExamples } from './responses.ts'
import { type JsonSchema, parameterSchema, requestSchema, schemaComponents } from './schemas.ts'

/** An OpenAPI 3.1 document; only the fields that this project reads are typed. */
export interface OpenApiDocument {
  readonly openapi: '3.1.0'
  readonly info: { readonly title: string; readonly version: string; readonly description: string }
  readonly servers: readonly { readonly url: string }[]
  readonly paths: Readonly<Record<string, Readonly<Record<string, DocumentedOperation>>>>
  readonly components: { readonly schemas: Readonly<Record<string, JsonSchema>> }
}

interface DocumentedOperation {
  readonly operationId: string
  readonly responses: Readonly<Record<string, JsonSchema>>
}

/** Generates the API document from the route table and its schemas. */
export const createOpenApiDocument = (
  operations: readonly Operation[],
  { version, serverUrl }: { readonly version: string; readonly serverUrl: string },
): OpenApiDocument => {
  const document = {
    openapi: '3.1.0',
    info: {
      title: 'Video Pipeline Service',
      version,
      description: DESCRIPTION,
      contact: { name: 'The maintainers of Video Pipeline Service' },
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: serverUrl }],
    tags: TAGS.map(([, name, description]) => ({ name, description })),
    paths: pathsOf(operations),
    components: {
      schemas: schemaComponents(),
      parameters: PARAMETER_COMPONENTS,
      headers: HEADER_COMPONENTS,
      securitySchemes: SECURITY_SCHEMES,
    },
  } as const
  // Drops undefined fields, as sending the document would.
  return JSON.parse(JSON.stringify(document)) as OpenApiDocument
}

const DESCRIPTION = `A control API for video pipelines, cameras and settings on one host.

**Errors** have one shape, \`{ "message", "code", "details" }\`. In addition to the errors that each operation lists, an unknown path is 404
NOT_FOUND, a path without the method is 405 METHOD_NOT_ALLOWED with \`Allow\`, and a malformed HTTP request is 400, 408, 417 or 431.

**Reasons**, \`details.reason\`, are for programs. CONFLICT: \`exists\`, \`running\`, \`not_playing\`, \`stopped\` (while it was starting), \`no_pay0\`, \`no_klv\`,
\`no_frame\`, \`codec\`, \`codec_change\` (of a recording), \`output_in_use\` (by another pipeline), \`other_path\` (the id is that of another stream), \`password_required\`. SERVICE_UNAVAILABLE:
\`engine_unavailable\`, \`engine_version\`, \`engine_missing\` (GStreamer), \`database\`, \`database_busy\`, \`no_free_port\`, \`port_in_use\`, \`output_unavailable\`, \`listen_failed\`,
\`reader_limit\`, \`no_segment\`, \`session_limit\`, \`webrtc_port\`, \`max_ephemeral\`, \`monitor_missing\`, \`monitor_failed\`, \`no_network\` (cameras), \`busy\`, \`configuration\`,
\`fleet_not_linked\` (this host), \`host_not_linked\`, \`host_does_not_answer\` (another). NOT_ACCEPTABLE of an offer of WebRTC: \`no_video\`, \`codec\`, \`b_frames\`. FORBIDDEN of an advanced pipeline: \`no_sandbox\`,
\`advanced_disabled\`, \`denied_element\`; of the fleet: \`fleet_refused\`, \`fleet_read_only\`, \`fleet_needs_password\`, \`fleet_relay\`. A failed start has the reason of its fault, as in
\`pipeline_error\`.

**Authentication** is off until a password is set. Then every operation that is not public needs a session token (\`Authorization: Bearer\`, from login)
or the API key (\`X-API-Key\`). Triggers always need the API key.

**Browsers**: a request without a valid credential is answered 403 FORBIDDEN when it would change something, or load pictures or video, and comes from a page
of another origin (reason \`cross_origin\`), and, while no password is set, when its host name is not known (reason \`unknown_host\`).

**Changes** by several clients: an answer with a pipeline or with the settings has an \`ETag\`. A \`PUT\`, \`PATCH\` or \`DELETE\` with \`If-Match\`
is answered 412 PRECONDITION_FAILED after another change.

**Times** are ISO 8601 UTC with milliseconds. **HEAD** works wherever GET does. **Request bodies** are JSON of at most 1 MiB; unknown fields are an error, and so are
unknown query parameters. Each answer has an \`X-Request-Id\`, as in the log.`

/** The first match counts. */
const TAGS: readonly (readonly [prefix: RegExp, name: string, description: string])[] = [
  [/^\/svc\/(?:recordings|pipeline\/:id\/recording)/, 'Recordings', 'Record pipelines; find, download and delete what was recorded'],
  [/^\/svc\/(?:health|healthz|version|metrics)$/, 'Service', 'Health, version, metrics'],
  [/^\/svc\/auth\//, 'Authentication', 'Password, login, logout'],
  [/^\/svc\/pipeline\/:id\/klv/, 'KLV', 'KLV metadata (MISB ST 0601) of a pipeline'],
  [
    /^\/svc\/(?:video$|pipeline\/:id\/(?:video|stream\.ts|whep)(?:\/|$))/,
    'Live video',
    'Video of pipelines over HTTP, whose streams do not end, and by WebRTC',
  ],
  [/^\/svc\/(?:pipeline\/:id\/(?:screenshots|snapshot)|files\/)/, 'Screenshots', 'Snapshots, periodic screenshots and their files'],
  [/\/events$/, 'Events', 'Server-Sent Events; the streams do not end, so read them with curl -N or EventSource instead of here'],
  [/^\/svc\/(?:pipeline|log$)/, 'Pipelines', 'Create, read, change, start and stop pipelines; their logs'],
  [/^\/svc\/camera/, 'Cameras', 'Cameras attached to the host, and in its network'],
  [/^\/svc\/fleet\//, 'Fleet', 'The hosts of the fleet, and requests to them'],
  [/^\/svc\/settings$/, 'Settings', 'Settings of the whole service'],
  [/^\/svc\/triggers\//, 'Triggers', 'Calls from a media server'],
]

const SECURITY_SCHEMES = {
  session: { type: 'http', scheme: 'bearer', description: 'The token of a login, valid for 24 hours' },
  apiKey: { type: 'apiKey', in: 'header', name: 'X-API-Key', description: 'SVC_API_KEY, or the content of <data dir>/api-key' },
} as const

const SECURITY = {
  public: [],
  session: [{ session: [] }, { apiKey: [] }],
  api_key: [{ apiKey: [] }],
} as const

const PATH_PARAMETERS = {
  id: pipelineIdSchema,
  file: screenshotFileSchema,
  segment: liveSegmentSchema,
  session: v.pipe(v.string(), v.description('Id of a session by WebRTC, from its Location')),
  host: v.pipe(v.string(), v.description('Name of a host in the fleet')),
} as const

const isPathParameter = (name: string): name is keyof typeof PATH_PARAMETERS => Object.hasOwn(PATH_PARAMETERS, name)

/** `/svc/pipeline/:id` in the notation of the document and docs/api.md: `/svc/pipeline/{id}`. */
export const documentedPath = (path: string): string => path.replace(/:(\w+)/g, '{$1}')

const pathsOf = (operations: readonly Operation[]) => {
  const paths: Record<string, Record<string, unknown>> = {}
  for (const operation of operations) {
    const path = documentedPath(operation.path)
    paths[path] = { ...paths[path], [operation.method.toLowerCase()]: operationOf(operation) }
  }
  return paths
}

const operationOf = (operation: Operation) => {
  const { path, query, body } = operation
  const parameters = [...pathParameters(path), ...(query === undefined ? [] : queryParameters(query)), ...requestHeaders(operation)]
  return {
    operationId: operation.operation,
    summary: operation.summary,
    description: descriptionOf(operation),
    tags: [tagOf(path)],
    security: SECURITY[operation.access],
    parameters,
    ...(body !== undefined && { requestBody: requestBody(body) }),
    responses: documentedResponses(operation),
  }
}

const descriptionOf = ({ description, limit }: Operation): string | undefined => {
  const limited = limit && `At most ${limit.requests} requests per ${limit.window_seconds} s and client address.`
  return [description, limited].filter((part) => part !== undefined).join(' ') || undefined
}

const tagOf = (path: string): string => {
  const tag = TAGS.find(([prefix]) => prefix.test(path))
  if (tag === undefined) throw new Error(`${path} has no tag in the API document; add one to TAGS`)
  return tag[1]
}

const pathParameters = (path: string) =>
  [...path.matchAll(/:(\w+)/g)].map(([, name = '']) => {
    if (!isPathParameter(name)) throw new Error(`${path} has an undocumented parameter; add it to PATH_PARAMETERS`)
    const { description, ...schema } = parameterSchema(PATH_PARAMETERS[name])
    return { name, in: 'path', required: true, description, schema }
  })

const OPTIONAL: ReadonlySet<string> = new Set(['optional', 'exact_optional', 'nullish'])

const queryParameters = ({ entries }: Fields) =>
  Object.entries(entries).map(([name, entry]) => {
    const { description, ...schema } = parameterSchema(entry)
    return { name, in: 'query', required: !OPTIONAL.has(entry.type), description, schema }
  })

const requestBody = ({ schema, optional, examples, mediaType = 'application/json' }: Body) => ({
  required: optional !== true,
  content: { [mediaType]: { schema: requestSchema(schema), examples: toExamples(examples) } },
})
