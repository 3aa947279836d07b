import type { FleetAnswer, FleetRequest } from '../../../lib/fleet/fleet-hosts.ts'
import { printable, printableJson } from '../../../lib/log/printable.ts'
import { toApiError } from '../../client/api-error.ts'
import { readHost } from '../../node/nats/hosts.ts'
import { requestHost } from '../../node/nats/request-host.ts'
import { UsageError } from '../command-line/arguments.ts'
import { EXIT } from '../command-line/exit.ts'
import type { Session } from '../command-line/session.ts'
import { readWhole } from '../verbs/input.ts'
import type { FleetConnection } from './open.ts'
import { unknownHost } from './unknown-host.ts'

/** A start may take minutes, milliseconds. */
const ANSWER_WITHIN_MS = 320_000

/** Sends a request to a host; prints the body of the answer, or all of it as JSON. Throws ApiError for an answer that is an error. */
export const callHost = async (session: Session, fleet: FleetConnection, operands: readonly string[]): Promise<number> => {
  const [host = '', method = '', path = ''] = operands
  const { out, isJson } = session
  const answer = await ask(fleet, host, { method, path, headers: {}, body: bodyOf(session) })
  if (isJson) out.print(printableJson(answer, 2))
  else if (answer.encoding === 'base64') process.stdout.write(Buffer.from(String(answer.body), 'base64'))
  else if (typeof answer.body === 'string') out.print(printable(answer.body))
  else if (answer.body !== null && answer.status < 400) out.print(printableJson(answer.body, 2))
  if (answer.status < 400) return EXIT.done
  throw toApiError(new Response(null, { status: answer.status }), answer.body)
}

const bodyOf = ({ given }: Session): unknown => {
  const text = given.text('data')
  if (text === undefined) return null
  const whole = text.startsWith('@') ? readWhole(text.slice(1)) : text
  try {
    return JSON.parse(whole)
  } catch {
    throw new UsageError('Use -d with JSON, or @FILE with a file that has it.')
  }
}

const ask = async ({ connection, stores }: FleetConnection, host: string, request: object): Promise<FleetAnswer> => {
  // The host says what is wrong with a method or path.
  const answer = await requestHost(connection, host, request as FleetRequest, ANSWER_WITHIN_MS)
  if (answer !== undefined) return answer
  if ((await readHost(stores, host)) === undefined) throw unknownHost(host)
  throw new Error(`The host ${host} is not linked now.`)
}
