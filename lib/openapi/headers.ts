import type { Operation } from './operation.ts'

/** components/parameters of the document: the request header fields of operations. */
export const PARAMETER_COMPONENTS = {
  RequestId: header('X-Request-Id', 'Id of the request for the log and the answer; generated when it is missing or not valid'),
  IfMatch: header('If-Match', 'ETags of the pipeline or the settings as the client has read them, or *; 412 after another change'),
  IfNoneMatch: header('If-None-Match', 'ETags of pictures that the client has; 304 when the picture is one of them'),
  LastEventId: header('Last-Event-ID', 'Id of the last event that the client has received; the stream begins with the next one'),
} as const

function header(name: string, description: string) {
  return { name, in: 'header', required: false, description, schema: { type: 'string' } } as const
}

/** components/headers of the document: response header fields that every answer has. */
export const HEADER_COMPONENTS = {
  RequestId: { description: 'Id of the request, as in the log', schema: { type: 'string' } },
} as const

const reference = (name: keyof typeof PARAMETER_COMPONENTS) => ({ $ref: `#/components/parameters/${name}` })

/** References to the request header fields that an operation reads. */
export const requestHeaders = ({ errors, answer, otherAnswers }: Operation) => [
  ...(errors.includes('PRECONDITION_FAILED') ? [reference('IfMatch')] : []),
  ...(otherAnswers?.[304] === undefined ? [] : [reference('IfNoneMatch')]),
  ...('text/event-stream' in answer.content ? [reference('LastEventId')] : []),
  reference('RequestId'),
]
