import { DeliverPolicy } from '@nats-io/jetstream'
import { EVENT_STREAM, eventSubject } from '../../../lib/fleet/names.ts'
import { isRecord } from '../../../lib/json/is-record.ts'
import { printable, printableJson } from '../../../lib/log/printable.ts'
import { EXIT } from '../command-line/exit.ts'
import type { Session } from '../command-line/session.ts'
import type { FleetConnection } from './open.ts'

/** Prints the events of all hosts, or of one, from now on until Ctrl-C. Throws when the connection is lost. */
export const followEvents = async (session: Session, { connection, stores }: FleetConnection, host = '*'): Promise<number> => {
  const { out, isJson, signal } = session
  const consumer = await stores.js.consumers.get(EVENT_STREAM, {
    filter_subjects: eventSubject(host, '*'),
    deliver_policy: DeliverPolicy.New,
  })
  const messages = await consumer.consume()
  signal.addEventListener('abort', () => messages.stop(), { once: true })
  void connection.closed().then(() => messages.stop())
  for await (const message of messages) {
    const value: unknown = message.json()
    const from = message.subject.split('.')[2] ?? ''
    if (isRecord(value)) out.print(isJson ? printableJson({ host: from, ...value }) : lineOf(from, value, session))
  }
  if (!signal.aborted) throw new Error('The connection to the fleet was lost.')
  return EXIT.done
}

const lineOf = (host: string, { event, data }: Readonly<Record<string, unknown>>, { out: { paint } }: Session): string => {
  const fields = isRecord(data) ? data : {}
  const runtime = isRecord(fields.runtime) ? fields.runtime : {}
  const id = fields.id ?? fields.pipeline_id ?? fields.device_path ?? ''
  const text =
    event === 'pipeline_status'
      ? runtime.phase === 'idle'
        ? fields.state
        : runtime.phase
      : [event, fields.message].filter(Boolean).join(' ')
  return `${paint.dim(new Date().toTimeString().slice(0, 8))}  ${paint.bold(printable(host))}  ${printable(String(id))}  ${printable(String(text))}`
}
