import { printable } from './printable.ts'

/** The style of the log on a terminal. */
export interface TextStyle {
  readonly color: boolean
}

/** The style for a terminal; undefined for other streams. Color follows no-color.org. */
export const terminalStyle = (
  { isTTY }: { readonly isTTY?: boolean },
  { NO_COLOR, TERM }: Readonly<Record<string, string | undefined>>,
): TextStyle | undefined => (isTTY === true ? { color: (NO_COLOR ?? '') === '' && TERM !== 'dumb' } : undefined)

type Paint = (text: string) => string

/** SGR parameters (ECMA-48 section 8.3.117). */
const SGR = { bold: '1', dim: '2', red: '31', green: '32', yellow: '33', cyan: '36' } as const

/** Functions that color a text; without color they return it unchanged. */
export const painter = ({ color }: TextStyle): Readonly<Record<keyof typeof SGR, Paint>> => {
  const paint =
    (code: string): Paint =>
    (text) =>
      color && text !== '' ? `\u001b[${code}m${text}\u001b[0m` : text
  return {
    bold: paint(SGR.bold),
    dim: paint(SGR.dim),
    red: paint(SGR.red),
    green: paint(SGR.green),
    yellow: paint(SGR.yellow),
    cyan: paint(SGR.cyan),
  }
}

/** The fixed fields of every record; the others are fields of its event. */
interface LogRecord {
  readonly time: string
  readonly level: string
  readonly event: string
  readonly process?: string
  readonly [field: string]: unknown
}

const LEVEL_WIDTH = 'error'.length
const PROCESS_WIDTH = 'engine'.length
const EVENT_WIDTH = 24

/** A record of the log as a line for people: time of day, level, process, event, fields. Stack frames follow, one per line. */
export const formatText = ({ time, level, event, process = '', ...fields }: LogRecord, style: TextStyle): string => {
  const { bold, dim, red, yellow } = painter(style)
  const levels: Readonly<Record<string, Paint>> = { error: red, warn: yellow, debug: dim }
  const paintLevel = levels[level] ?? ((text: string) => text)
  const shown = Object.entries(fields).filter(([, value]) => value !== undefined && value !== null)
  const words = shown.map(([name, value]) => `${dim(`${printable(name)}=`)}${showValue(value)}`)
  const head = [dim(timeOfDay(time)), paintLevel(level.padEnd(LEVEL_WIDTH)), dim(process.padEnd(PROCESS_WIDTH))]
  const name = words.length === 0 ? bold(event) : bold(event) + ' '.repeat(Math.max(0, EVENT_WIDTH - event.length))
  const line = [...head, name, words.join(' ')].filter((part) => part !== '').join('  ')
  const stacks = level === 'error' ? shown.flatMap(([, value]) => framesOf(value)) : []
  return [line, ...stacks.map((frame) => dim(`    ${printable(frame)}`))].join('\n')
}

/** `hh:mm:ss.mmm` in the time zone of the process. */
const timeOfDay = (time: string): string => {
  const date = new Date(time)
  const two = (value: number): string => String(value).padStart(2, '0')
  const clock = [date.getHours(), date.getMinutes(), date.getSeconds()].map(two).join(':')
  return `${clock}.${String(date.getMilliseconds()).padStart(3, '0')}`
}

const BARE = /^[\w./:@%+,~*[\]-]+$/

const showValue = (value: unknown): string => {
  const text = isError(value) ? chainOf(value) : typeof value === 'string' ? value : JSON.stringify(value)
  return typeof value === 'string' || isError(value) ? (BARE.test(text) ? text : printable(JSON.stringify(text))) : printable(text)
}

/** An error, as `createLog` serializes it. */
interface LoggedError {
  readonly name: string
  readonly message: string
  readonly stack?: string
  readonly cause?: unknown
}

const isError = (value: unknown): value is LoggedError =>
  typeof value === 'object' && value !== null && 'message' in value && typeof value.message === 'string' && 'name' in value

const MAX_CAUSES = 5

const chainOf = (error: LoggedError): string => {
  const messages: string[] = []
  for (let at: unknown = error; isError(at) && messages.length < MAX_CAUSES; at = at.cause) messages.push(at.message)
  return messages.join(': ')
}

const MAX_FRAMES = 12

/** The stack of an error; none of an ApiError, which is an answer to a client. */
const framesOf = (value: unknown): readonly string[] =>
  isError(value) && value.name !== 'ApiError'
    ? (value.stack ?? '')
        .split('\n')
        .map((line) => line.trim())
        .filter((line) => line.startsWith('at '))
        .slice(0, MAX_FRAMES)
    : []
