import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { createOpenApiDocument, type OpenApiDocument } from '../../../lib/openapi/document.ts'
import type { Operation } from '../../../lib/openapi/operation.ts'

/** Checks answers against the OpenAPI document. */
export interface AnswerCheck {
  readonly document: OpenApiDocument
  /** Throws when the document does not describe this answer to this request. */
  check(method: string, url: string, response: Response): Promise<void>
  /** Throws when the document does not describe this event of the stream at this URL. */
  checkEvent(url: string, event: string, data: unknown): void
  /** Throws unless the value is valid by the schema at `pointer`. */
  checkValue(pointer: readonly string[], value: unknown): void
}

/** Statuses for a URL or method without an operation, and for callers that may not call at all. */
const ANYWHERE: ReadonlySet<number> = new Set([403, 404, 405])
const ERROR = ['components', 'schemas', 'Error']

type Tree = Readonly<Record<string, unknown>>

/** Creates the OpenAPI document of the routes and checks answers against it; fields that it does not name are errors. */
export const createAnswerCheck = (routes: readonly Operation[]): AnswerCheck => {
  const document = createOpenApiDocument(routes, { version: '0.1.0', serverUrl: 'http://127.0.0.1:8080' })
  const ajv = new Ajv2020({ strict: false, allErrors: false })
  addFormats.default(ajv)
  ajv.addSchema(closed(document) as object, 'api')
  const validators = new Map<string, ValidateFunction>()

  const checkValue = (pointer: readonly string[], value: unknown): void => {
    const reference = `api#/${pointer.map((part) => encodeURIComponent(part.replaceAll('~', '~0').replaceAll('/', '~1'))).join('/')}`
    const validate = validators.get(reference) ?? ajv.compile({ $ref: reference })
    validators.set(reference, validate)
    if (!validate(value)) throw new Error(`Not as ${pointer.join(' ')} says: ${ajv.errorsText(validate.errors)}: ${JSON.stringify(value)}`)
  }

  const paths = Object.keys(document.paths)
  const operationAt = (method: string, url: string) => {
    const { pathname } = new URL(url)
    const path = paths
      .filter((candidate) => document.paths[candidate]?.[method] !== undefined)
      .find((candidate) => fits(candidate, pathname))
    const operation = path === undefined ? undefined : document.paths[path]?.[method]
    return path === undefined || operation === undefined ? undefined : { path, operation, pointer: ['paths', path, method] }
  }

  return {
    document,
    checkValue,
    checkEvent: (url, event, data) => {
      const pointer = [...(operationAt('get', url)?.pointer ?? []), 'responses', '200', 'content', 'text/event-stream', 'x-events', event]
      checkValue(pointer, data)
    },
    check: async (method, url, response) => {
      const found = operationAt(method === 'HEAD' ? 'get' : method.toLowerCase(), url)
      const where = `${method} ${url} answers ${response.status}`
      const documented = found?.operation.responses[response.status] as Tree | undefined
      if (found === undefined || documented === undefined) {
        if (!ANYWHERE.has(response.status) || found !== undefined) throw new Error(`${where}, which is not documented`)
        return method === 'HEAD' ? undefined : checkValue(ERROR, await response.clone().json())
      }
      for (const name of Object.keys((documented.headers ?? {}) as Tree)) {
        if (!OPTIONAL_HEADERS.has(name) && !response.headers.has(name)) throw new Error(`${where} without ${name}`)
      }
      const content = (documented.content ?? {}) as Tree
      const type = response.headers.get('content-type')?.split(';')[0]
      if (type === undefined) {
        if (Object.keys(content).length > 0) throw new Error(`${where} without content`)
        return
      }
      if (content[type] === undefined) {
        throw new Error(`${where} with ${type}, which is not documented: ${(await response.clone().text()).slice(0, 300)}`)
      }
      if (!type.endsWith('json') || method === 'HEAD') return
      checkValue([...found.pointer, 'responses', String(response.status), 'content', type, 'schema'], await response.clone().json())
    },
  }
}

/** Header fields that an answer may do without: the last page has no next one, and only hosts give requests an id. */
const OPTIONAL_HEADERS: ReadonlySet<string> = new Set(['link', 'x-request-id'])

/** Whether a URL path matches a documented path; trailing slashes are ignored. */
const fits = (path: string, pathname: string): boolean => {
  const [expected, given] = [path.split('/'), pathname.replace(/\/+$/, '').split('/')]
  return expected.length === given.length && expected.every((part, at) => part === given[at] || (part.startsWith('{') && given[at] !== ''))
}

/** The document with `additionalProperties: false` in every object. */
const closed = (node: unknown): unknown => {
  if (Array.isArray(node)) return node.map(closed)
  if (typeof node !== 'object' || node === null) return node
  const copy = Object.fromEntries(Object.entries(node).map(([key, value]) => [key, key.startsWith('example') ? value : closed(value)]))
  return copy.type === 'object' && 'properties' in copy && !('additionalProperties' in copy)
    ? { ...copy, additionalProperties: false }
    : copy
}
