import type { Operation } from './operation.ts'

/** components/parameters of the document: the request header fields of operations. */
export const PARAMETER_COMPONENTS = {
  RequestId: header('X-Request-Id', 'Id of the request for the log and the answer; the service makes one when it is missing or not valid'),
  IfMatch: header('If-Match', 'ETags of what is to be changed, or *: the change is refused (412) if there was another one since'),
  IfNoneMatch: header('If-None-Match', 'ETags of the pictures that the client has: 304 for one of them'),
  LastEventId: header('Last-Event-ID', 'Id of the last event that the client has: the stream begins with the events after it'),
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
