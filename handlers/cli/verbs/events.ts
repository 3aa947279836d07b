import { printable, printableJson } from '../../../lib/log/printable.ts'
import type { Client } from '../../client/client.ts'
import { EXIT, explain } from '../command-line/exit.ts'
import type { Run, Session } from '../command-line/session.ts'
import { statusCell } from '../terminal/status.ts'

type Event = ReturnType<Client['followEverything']> extends AsyncIterable<infer E> ? E : never

/** Prints the events of all pipelines and cameras, or of one pipeline, until Ctrl-C. */
export const events: Run = async (session) => {
  const { client, given, signal, out, isJson, url } = session
  const [id] = given.operands
  const onReconnect = ({ error, delay_ms }: { readonly error: unknown; readonly delay_ms: number }): void => {
    const cause = error === undefined ? 'The service ended the stream.' : explain(error, url)
    process.stderr.write(`${cause} Trying again in ${(delay_ms / 1000).toFixed(1)} s.\n`)
  }
  const options = { signal, onReconnect }
  const stream: AsyncIterable<Event> = id === undefined ? client.followEverything(options) : client.followPipeline({ id, ...options })
  try {
    for await (const event of stream) out.print(isJson ? printableJson(event) : lineOf(event, out))
  } catch (error) {
    if (!signal.aborted) throw error
  }
  return EXIT.done
}

const lineOf = (event: Event, out: Session['out']): string => {
  const { paint } = out
  const [name, text] = describe(event, out)
  return `${paint.dim(clock(new Date()))}  ${paint.bold(printable(name))}  ${text}`
}

const describe = (event: Event, out: Session['out']): readonly [name: string, text: string] => {
  const { paint } = out
  switch (event.event) {
    case 'pipeline_status': {
      const { text, paint: color } = statusCell(event.data, out)
      return [event.data.id, color?.(text) ?? text]
    }
    case 'pipeline_error':
      return [
        event.data.pipeline_id,
        `${paint.red('error')} ${printable(event.data.message)} ${paint.dim(`(${printable(event.data.reason)})`)}`,
      ]
    case 'pipeline_not_found':
      return [event.data.pipeline_id, 'deleted']
    case 'camera_added':
      return [event.data.device_path, `camera added ${paint.dim(printable(event.data.device_name))}`]
    case 'camera_removed':
      return [event.data.device_path, 'camera removed']
    default:
      // An event of a newer service.
      return [(event as { readonly event: string }).event, printableJson((event as { readonly data: unknown }).data)]
  }
}

const clock = (date: Date): string =>
  [date.getHours(), date.getMinutes(), date.getSeconds()].map((part) => String(part).padStart(2, '0')).join(':')
