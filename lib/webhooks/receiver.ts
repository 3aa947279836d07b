import { Backoff } from '../backoff.ts'
import type { Clock, Log } from '../ports.ts'
import type { QueuedEvent } from '../repositories/webhook-queue.ts'
import type { Webhook } from '../schema/event.ts'
import { type DropReason, DropReport } from './drop-report.ts'
import { createPostEvent, type PostEvent } from './post-event.ts'

/** Events that wait for one receiver. */
export const MAX_WAITING = 10_000
/** Requests to one receiver at a time, each for another pipeline. */
const MAX_AT_ONCE = 4
/** An event is tried for this time, milliseconds. */
const TRY_FOR_MS = 24 * 3_600_000
const RETRY = { initial_delay_ms: 1000, max_delay_seconds: 300 }

/** The events of one pipeline, delivered one after the other. */
interface Lane {
  readonly name: string
  /** By number, the oldest first. */
  readonly waiting: Map<number, QueuedEvent>
  readonly backoff: Backoff
  state: 'idle' | 'queued' | 'sending' | 'pausing'
  timer: ReturnType<typeof setTimeout> | undefined
}

interface ReceiverOptions {
  readonly webhook: Webhook
  readonly clock: Clock
  readonly log: Log
  /** The body of an event; undefined when it is not stored. */
  readonly body: (seq: number) => Promise<string | undefined>
  /** It no longer waits for an event. */
  readonly onDone: (seq: number) => void
}

/** Delivers events to one receiver: those of a pipeline in their order, and each until it is taken, too old or pushed out. */
export class Receiver {
  readonly #options: ReceiverOptions
  readonly #waiting = new Map<number, Lane>()
  readonly #lanes = new Map<string, Lane>()
  readonly #queue: Lane[] = []
  readonly #drops: DropReport
  readonly #ending = new AbortController()
  #webhook: Webhook
  #post: PostEvent
  #sending = 0
  /** Lanes whose last attempt failed: only the first and the last of them is logged. */
  readonly #failing = new Set<Lane>()

  constructor(options: ReceiverOptions) {
    this.#options = options
    this.#webhook = options.webhook
    this.#post = createPostEvent(options.webhook)
    this.#drops = new DropReport({ ...options, receiver: this.#name })
  }

  get waiting(): number {
    return this.#waiting.size
  }

  /** When it last dropped an event, milliseconds since the epoch. */
  get droppedAt(): number | undefined {
    return this.#drops.at
  }

  wants(event: string): boolean {
    return this.#webhook.events.some((wanted) => wanted === event)
  }

  /** Another secret, password or list of events. What failed with those of before is tried again. */
  update(webhook: Webhook): void {
    const isSame = this.#webhook.secret === webhook.secret && this.#webhook.url === webhook.url
    this.#webhook = webhook
    if (isSame) return
    this.#post = createPostEvent(webhook)
    for (const lane of this.#lanes.values()) {
      lane.backoff.reset()
      if (lane.state === 'pausing') this.#enqueue(lane)
    }
  }

  add(event: QueuedEvent): void {
    const lane = this.#lanes.get(event.lane) ?? newLane(event.lane)
    this.#lanes.set(event.lane, lane)
    lane.waiting.set(event.seq, event)
    this.#waiting.set(event.seq, lane)
    const [oldest] = this.#waiting.keys()
    if (this.#waiting.size > MAX_WAITING && oldest !== undefined) this.drop(oldest, 'full')
    if (lane.state === 'idle') this.#enqueue(lane)
  }

  /** Gives up an event; one that is being sent may arrive all the same. */
  drop(seq: number, reason: DropReason): void {
    if (this.#waiting.has(seq)) this.#drops.count(reason)
    this.#remove(seq)
  }

  /** Ends everything at once; what waits stays stored. */
  end(): void {
    this.#ending.abort()
    this.#drops.end()
    for (const { timer } of this.#lanes.values()) clearTimeout(timer)
  }

  /** Nothing waits for it any more: it is no longer in the settings. */
  forget(): void {
    const { log } = this.#options
    if (this.#waiting.size > 0) log.info('webhook_removed', { receiver: this.#name, events_discarded: this.#waiting.size })
    for (const seq of [...this.#waiting.keys()]) this.#remove(seq)
  }

  /** For the log: an address may have a secret in its path. */
  get #name(): string {
    return new URL(this.#webhook.url).origin
  }

  #remove(seq: number): void {
    const lane = this.#waiting.get(seq)
    if (lane === undefined) return
    this.#waiting.delete(seq)
    lane.waiting.delete(seq)
    this.#options.onDone(seq)
  }

  #enqueue(lane: Lane): void {
    clearTimeout(lane.timer)
    lane.state = 'queued'
    this.#queue.push(lane)
    this.#sendNext()
  }

  #sendNext(): void {
    while (this.#sending < MAX_AT_ONCE && !this.#ending.signal.aborted) {
      const lane = this.#queue.shift()
      if (lane === undefined) return
      void this.#sendHead(lane)
    }
  }

  async #sendHead(lane: Lane): Promise<void> {
    const [head] = lane.waiting.values()
    if (head === undefined) return this.#rest(lane)
    lane.state = 'sending'
    this.#sending += 1
    const outcome = await this.#deliver(head)
    this.#sending -= 1
    if (outcome === 'delivered') this.#onDelivered(lane, head)
    if (this.#ending.signal.aborted) return
    if (typeof outcome === 'object') this.#onRefused(lane, outcome.problem)
    else if (lane.waiting.size > 0) this.#enqueue(lane)
    else this.#rest(lane)
    this.#sendNext()
  }

  async #deliver({ seq, id }: QueuedEvent): Promise<'delivered' | 'gone' | { readonly problem: string }> {
    const { body: read, clock, log } = this.#options
    const body = await read(seq).catch((error: unknown) => {
      log.debug('webhook_event_not_read', { error })
      return { problem: 'the stored event cannot be read' }
    })
    if (typeof body === 'object') return body
    if (body === undefined) {
      this.drop(seq, 'lost')
      return 'gone'
    }
    const problem = await this.#post({ id, body }, clock.now(), this.#ending.signal)
    return problem === undefined ? 'delivered' : { problem }
  }

  #onDelivered(lane: Lane, { seq }: QueuedEvent): void {
    lane.backoff.reset()
    this.#remove(seq)
    if (this.#failing.delete(lane) && this.#failing.size === 0) this.#options.log.info('webhook_delivered_again', { receiver: this.#name })
  }

  #onRefused(lane: Lane, problem: string): void {
    this.#dropExpired(lane)
    if (lane.waiting.size === 0) {
      this.#rest(lane)
      return
    }
    const ms = lane.backoff.next(RETRY)
    const { log } = this.#options
    log[this.#failing.size > 0 ? 'debug' : 'warn']('webhook_failed', { receiver: this.#name, error: problem, retry_in_seconds: ms / 1000 })
    this.#failing.add(lane)
    lane.state = 'pausing'
    lane.timer = setTimeout(() => this.#enqueue(lane), ms)
  }

  /** After an attempt only: a clock that was set may make everything look old. */
  #dropExpired({ waiting }: Lane): void {
    const oldest = this.#options.clock.now() - TRY_FOR_MS
    for (const { seq, at } of [...waiting.values()]) if (at <= oldest) this.drop(seq, 'expired')
  }

  #rest(lane: Lane): void {
    lane.state = 'idle'
    this.#lanes.delete(lane.name)
    this.#failing.delete(lane)
  }
}

/** Delays are exact: 1, 2, 4 … seconds. */
const newLane = (name: string): Lane => ({ name, waiting: new Map(), backoff: new Backoff(() => 0), state: 'idle', timer: undefined })
