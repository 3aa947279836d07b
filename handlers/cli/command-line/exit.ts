import { messageOf } from '../../../lib/errors.ts'
import { printable } from '../../../lib/log/printable.ts'
import { ApiError } from '../../client/client.ts'
import { DeclarationError } from '../../declared/declaration-error.ts'
import { UsageError } from './arguments.ts'

export const EXIT = { done: 0, failed: 1, usage: 2, notFound: 3, notAllowed: 4 } as const

const BY_STATUS: Readonly<Record<number, number>> = { 401: EXIT.notAllowed, 403: EXIT.notAllowed, 404: EXIT.notFound }

/** The exit code for an error. */
export const exitCodeOf = (error: unknown): number => {
  if (error instanceof UsageError) return EXIT.usage
  return error instanceof ApiError && error.code !== 'UNEXPECTED_ANSWER' ? (BY_STATUS[error.status] ?? EXIT.failed) : EXIT.failed
}

/** An error in words for the user. */
export const explain = (error: unknown, url?: URL): string => {
  if (error instanceof ApiError) return printable(withAdvice(error))
  if (isAbort(error)) return 'Interrupted. The service may still complete the request.'
  if (error instanceof DeclarationError) return error.mistakes.map((mistake, at) => (at === 0 ? '' : '  ') + printable(mistake)).join('\n')
  const cause = error instanceof TypeError && error.cause !== undefined ? error.cause : undefined
  return cause === undefined
    ? printable(messageOf(error))
    : `No service answers at ${url?.href ?? 'its address'} (${codeOf(cause)}). Is it running? Use --url or SVC_URL for another one.`
}

/** Ctrl-C; no other request has a signal. */
const isAbort = (error: unknown): boolean => error instanceof DOMException && error.name === 'AbortError'

/** An error for programs. */
export const errorFields = (error: unknown, url?: URL): object => {
  if (!(error instanceof ApiError)) return { code: error instanceof UsageError ? 'USAGE' : 'FAILED', message: explain(error, url) }
  const { code, status, message, details } = error
  return { code, status, message, details }
}

/** The fault, which is the first sentence, with advice for users of the command; the API advises those of requests. */
const withAdvice = (error: ApiError): string => {
  const advice = adviceOn(error)
  return advice === undefined ? error.message : `${error.message.split('. ')[0]}. ${advice}`
}

const adviceOn = ({ code, message }: ApiError): string | undefined => {
  if (code === 'UNAUTHORIZED') return 'Set SVC_API_KEY, or use --api-key @FILE with a file that has the key of the service.'
  return message.startsWith('No pipeline has the id') ? 'Run `ls` to see the pipelines.' : undefined
}

/** The cause of `fetch failed`, as a code. */
const codeOf = (cause: unknown): string => {
  const { code, errors } = cause as { readonly code?: unknown; readonly errors?: readonly { readonly code?: unknown }[] }
  return String(code ?? errors?.[0]?.code ?? messageOf(cause))
}
