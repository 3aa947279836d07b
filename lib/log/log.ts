import type { Clock, Log, LogFields, LogLevel } from '../ports.ts'
import { redact } from '../redact.ts'
import { formatText, type TextStyle } from './log-text.ts'
import { printable } from './printable.ts'

export const LOG_LEVELS = ['debug', 'info', 'warn', 'error'] as const satisfies readonly LogLevel[]

const MAX_FIELD_LENGTH = 4000

// Unlike an answer to a client, the log is for maintainers, so errors keep their stack.
const toField = (_name: string, value: unknown): unknown => {
  if (value instanceof Error)
    return { name: value.name, message: value.message, stack: value.stack, ...(value.cause !== undefined && { cause: value.cause }) }
  if (typeof value === 'string') return cut(redact(value))
  if (typeof value === 'bigint') return value.toString()
  return value
}

/** Cut after masking: a part of a credential would not be found. */
const cut = (text: string): string => (text.length > MAX_FIELD_LENGTH ? `${text.slice(0, MAX_FIELD_LENGTH)}…` : text)

const format = (record: LogFields): string => {
  try {
    return JSON.stringify(record, toField)
  } catch {
    return JSON.stringify({ time: record.time, level: record.level, event: record.event, unprintable: true })
  }
}

/**
 * A structured log: one JSON line per event, or text for a terminal; credentials are masked, events below `level` left out. Control
 * characters that JSON does not escape are escaped too, since people read logs on terminals.
 */
export const createLog = (options: {
  readonly level: LogLevel
  readonly clock: Clock
  readonly write: (line: string) => void
  readonly fields?: LogFields
  /** For a terminal; JSON without it. */
  readonly text?: TextStyle | undefined
}): Log => {
  const { text } = options
  const least = LOG_LEVELS.indexOf(options.level)
  const at =
    (level: LogLevel) =>
    (event: string, fields: LogFields = {}): void => {
      if (LOG_LEVELS.indexOf(level) < least) return
      const json = format({ time: new Date(options.clock.now()).toISOString(), level, event, ...options.fields, ...fields })
      options.write(text === undefined ? printable(json) : formatText(JSON.parse(json), text))
    }
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }
}

/** The part of a Node.js stream that a log is written to. */
interface LogStream {
  /** Bytes in the buffer of the stream. */
  readonly writableLength: number
  write(text: string): unknown
  /** The buffer is empty again. */
  once(event: 'drain', listener: () => void): unknown
}

const MAX_WAITING_BYTES = 1024 * 1024

/**
 * Writes lines to a stream whose reader may be slow or hang: while 1 MiB is buffered, lines are dropped. `onDropped` gets their number
 * when the buffer is empty again.
 */
export const createLineWriter = (stream: LogStream, onDropped: (lines: number) => void): ((line: string) => void) => {
  let dropped = 0
  const report = (): void => {
    const lines = dropped
    dropped = 0
    onDropped(lines)
  }
  return (line) => {
    if (stream.writableLength < MAX_WAITING_BYTES) {
      stream.write(`${line}\n`)
      return
    }
    if (dropped === 0) stream.once('drain', report)
    dropped += 1
  }
}
