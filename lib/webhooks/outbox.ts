import { messageOf } from '../errors.ts'
import { pause } from '../pause.ts'
import type { Log } from '../ports.ts'
import type { Delivery, QueuedEvent, WebhookQueue } from '../repositories/webhook-queue.ts'

type StoredEvent = QueuedEvent & { readonly body: string }

/** Events that one transaction stores, so that it holds up nothing. */
const MAX_EVENTS = 200
const MAX_DONE = 2000
/** What was delivered may be stored later: a kill in between sends it again. Milliseconds. */
const DONE_AFTER_MS = 100
/** Events that come many times a second are stored together, milliseconds: a kill loses those since. */
const FREQUENT_AFTER_MS = 20
/** Time between two attempts to write, milliseconds. */
const RETRY_MS = 1000
/** Bodies that wait to be stored, UTF-16 units; beyond it the oldest are dropped. */
const MAX_UNSAVED = 64_000_000

interface Unsaved {
  readonly event: StoredEvent
  /** Receivers that still wait for it. */
  readonly receivers: Set<string>
}

interface OutboxOptions {
  readonly queue: WebhookQueue
  readonly log: Log
  /** An event can be neither stored nor kept; called before it is forgotten. */
  readonly onOverflow: (seq: number) => void
}

/** Stores the events that wait behind those who publish and deliver them, several in one transaction. */
export class Outbox {
  readonly #options: OutboxOptions
  /** Not stored yet, by number. An event that is delivered before it is stored never is. */
  #unsaved = new Map<number, Unsaved>()
  #saving: ReadonlyMap<number, Unsaved> = new Map()
  #done: Delivery[] = []
  #finished: number[] = []
  /** How many receivers wait for an event that is stored, or about to be. */
  readonly #references = new Map<number, number>()
  #size = 0
  #timer: ReturnType<typeof setTimeout> | undefined
  #running: Promise<void> | undefined
  #failing = false
  readonly #closing = new AbortController()

  constructor(options: OutboxOptions) {
    this.#options = options
  }

  /** Events that are stored already. */
  load(waiting: readonly Delivery[]): void {
    for (const { seq } of waiting) this.#references.set(seq, (this.#references.get(seq) ?? 0) + 1)
  }

  /** An event is stored at once, those of the same moment together; `frequent` ones a little later. */
  add(event: StoredEvent, receivers: readonly string[], frequent = false): void {
    this.#unsaved.set(event.seq, { event, receivers: new Set(receivers) })
    this.#size += event.body.length
    while (this.#size > MAX_UNSAVED && this.#unsaved.size > 1) this.#dropOldest()
    if (frequent) this.#schedule(FREQUENT_AFTER_MS)
    else queueMicrotask(() => this.#start())
  }

  /** A receiver no longer waits for an event. */
  done(receiver: string, seq: number): void {
    const unsaved = this.#unsaved.get(seq)
    if (unsaved !== undefined) {
      unsaved.receivers.delete(receiver)
      if (unsaved.receivers.size === 0) this.#forget(seq, unsaved)
      return
    }
    this.#done.push({ receiver, seq })
    const left = (this.#references.get(seq) ?? 1) - 1
    if (left > 0) this.#references.set(seq, left)
    else {
      this.#references.delete(seq)
      this.#finished.push(seq)
    }
    this.#schedule(DONE_AFTER_MS)
  }

  /** The body of an event, from memory while it is not stored; undefined when it is gone. */
  async body(seq: number): Promise<string | undefined> {
    return (this.#unsaved.get(seq) ?? this.#saving.get(seq))?.event.body ?? this.#options.queue.body(seq)
  }

  /** Stores what is left, if that is possible at once. */
  async close(): Promise<void> {
    this.#closing.abort()
    clearTimeout(this.#timer)
    await this.#running
    while (this.#hasChanges() && (await this.#write())) {}
  }

  #hasChanges(): boolean {
    return this.#unsaved.size > 0 || this.#done.length > 0 || this.#finished.length > 0
  }

  #schedule(ms: number): void {
    if (this.#running === undefined && !this.#closing.signal.aborted) this.#timer ??= setTimeout(() => this.#start(), ms)
  }

  #start(): void {
    if (this.#running !== undefined || this.#closing.signal.aborted) return
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#running = this.#run().finally(() => {
      this.#running = undefined
      // What came, and deliveries that ended, meanwhile.
      if (this.#unsaved.size > 0) this.#start()
      else if (this.#hasChanges()) this.#schedule(DONE_AFTER_MS)
    })
  }

  async #run(): Promise<void> {
    const { signal } = this.#closing
    do {
      if (!(await this.#write())) await pause(RETRY_MS, signal)
    } while (this.#unsaved.size > 0 && !signal.aborted)
  }

  /** Writes one transaction; false when it failed, and everything waits again. Never rejects. */
  async #write(): Promise<boolean> {
    const { queue, log } = this.#options
    const entries = [...this.#unsaved].slice(0, MAX_EVENTS)
    const [done, finished] = [this.#done.splice(0, MAX_DONE), this.#finished.splice(0, MAX_DONE)]
    this.#saving = new Map(entries)
    for (const [seq, { event, receivers }] of entries) {
      this.#unsaved.delete(seq)
      this.#size -= event.body.length
      this.#references.set(seq, receivers.size)
    }
    const waiting = entries.flatMap(([seq, { receivers }]) => [...receivers].map((receiver) => ({ receiver, seq })))
    try {
      await queue.write({ added: entries.map(([, { event }]) => event), waiting, done, finished })
      if (this.#failing) log.info('webhook_events_stored_again')
      this.#failing = false
      return true
    } catch (error) {
      this.#restore(entries)
      this.#done.unshift(...done)
      this.#finished.unshift(...finished)
      if (!this.#failing) log.warn('webhook_events_not_stored', { error: messageOf(error), advice: NOT_STORED })
      this.#failing = true
      return false
    } finally {
      this.#saving = new Map()
    }
  }

  /** What could not be stored waits before what has come since, without what was delivered meanwhile. */
  #restore(entries: readonly (readonly [number, Unsaved])[]): void {
    const delivered = new Set(this.#done.map(({ receiver, seq }) => `${seq} ${receiver}`))
    for (const [seq, { event, receivers }] of entries) {
      for (const receiver of receivers) if (delivered.has(`${seq} ${receiver}`)) receivers.delete(receiver)
      this.#references.delete(seq)
      this.#size += event.body.length
    }
    const left = entries.filter(([, { receivers }]) => receivers.size > 0)
    for (const [, { event }] of entries.filter(([, { receivers }]) => receivers.size === 0)) this.#size -= event.body.length
    this.#unsaved = new Map([...left, ...this.#unsaved])
  }

  #dropOldest(): void {
    const [oldest] = this.#unsaved
    if (oldest === undefined) return
    const [seq, unsaved] = oldest
    this.#options.onOverflow(seq)
    if (this.#unsaved.has(seq)) this.#forget(seq, unsaved)
  }

  #forget(seq: number, { event }: Unsaved): void {
    this.#unsaved.delete(seq)
    this.#size -= event.body.length
  }
}

const NOT_STORED =
  'Events are delivered, and those that wait are kept in memory: a restart would lose them. See the disk of the data directory.'
