import { appendFile, readFile, rm } from 'node:fs/promises'
import { isRecord } from '../../../lib/json/is-record.ts'
import { writeWhole } from '../storage/data-directory.ts'

/** An event that waits for the link. */
export interface WaitingEvent {
  readonly id: string
  readonly event: string
  /** The message: JSON with id, event and data. */
  readonly text: string
}

/** Lines of a file that is written anew: its events have mostly been sent. */
const MAX_LINES = 25_000

/**
 * The events that wait, over a restart of the service: a line each, and a line with the id of the last one that has been sent. It is
 * written only while events wait.
 */
export class EventsFile {
  readonly #path: string
  #lines = 0

  constructor(path: string) {
    this.#path = path
  }

  /** The events that have not been sent, oldest first. A line that was cut off by a crash is left out. */
  async read(): Promise<readonly WaitingEvent[]> {
    const text = await readFile(this.#path, 'utf8').catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return ''
      throw error
    })
    const lines = text.split('\n').filter((line) => line !== '')
    this.#lines = lines.length
    const waiting: WaitingEvent[] = []
    for (const line of lines) {
      const entry = parse(line)
      if (typeof entry?.sent === 'string') {
        const at = waiting.findIndex(({ id }) => id === entry.sent)
        waiting.splice(0, at + 1)
      } else if (entry !== undefined && typeof entry.id === 'string' && typeof entry.event === 'string')
        waiting.push({ id: entry.id, event: entry.event, text: line })
    }
    // What is added must not continue a line that was cut off.
    if (!text.endsWith('\n') && text !== '') this.replace(waiting)
    return waiting
  }

  /** Adds events, and that all up to one have been sent. */
  async append(events: readonly WaitingEvent[], sent: string | undefined): Promise<void> {
    const lines = [...events.map(({ text }) => text), ...(sent === undefined ? [] : [JSON.stringify({ sent })])]
    if (lines.length === 0) return
    await appendFile(this.#path, lines.map((line) => `${line}\n`).join(''), { mode: 0o600 })
    this.#lines += lines.length
  }

  get isEmpty(): boolean {
    return this.#lines === 0
  }

  /** Whether most of its lines are of no use any more. */
  get isLong(): boolean {
    return this.#lines > MAX_LINES
  }

  replace(events: readonly WaitingEvent[]): void {
    writeWhole(this.#path, events.map(({ text }) => `${text}\n`).join(''))
    this.#lines = events.length
  }

  async clear(): Promise<void> {
    if (this.#lines > 0) await rm(this.#path, { force: true })
    this.#lines = 0
  }
}

const parse = (line: string): Readonly<Record<string, unknown>> | undefined => {
  try {
    const value: unknown = JSON.parse(line)
    return isRecord(value) ? value : undefined
  } catch {
    return undefined
  }
}
