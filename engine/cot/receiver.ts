import { Backoff } from '../../lib/backoff.ts'
import { messageOf } from '../../lib/errors.ts'
import type { Log } from '../../lib/ports.ts'

/** One connection to a receiver. */
interface CotConnection {
  /** The address of this host that the receiver sees. */
  readonly ownAddress: string
  /** Sends an event; false when it takes no more at present. */
  write(event: string): boolean
  close(): void
}

/** The events of a connection: at most one `open`, then one `lost`; `lost` alone when it could not be opened; nothing after `close`. */
interface ConnectionEvents {
  open(): void
  lost(error: unknown): void
}

export type Dial = (events: ConnectionEvents) => CotConnection

interface CotReceiverOptions {
  readonly uri: string
  readonly dial: Dial
  /** Whether there is something to send; else a lost connection stays closed until there is. */
  readonly isNeeded: () => boolean
  readonly onOpen: () => void
  readonly log: Log
}

const BACKOFF = { initial_delay_ms: 500, max_delay_seconds: 30 }
/** A connection that lasted this long was a good one: the next attempt comes soon. Milliseconds. */
const GOOD_AFTER_MS = 5000

/** A receiver of events: connects when there is something to send, and again after a loss, with growing pauses. */
export class CotReceiver {
  readonly #options: CotReceiverOptions
  readonly #backoff = new Backoff()
  #connection: CotConnection | undefined
  #openSince: number | undefined
  #retry: NodeJS.Timeout | undefined
  #closed = false
  #wasLost = false

  constructor(options: CotReceiverOptions) {
    this.#options = options
  }

  /** The open connection. Connects when there is none and no pause either. */
  connection(): CotConnection | undefined {
    if (this.#connection === undefined && this.#retry === undefined) this.#connect()
    return this.connected ? this.#connection : undefined
  }

  get connected(): boolean {
    return this.#openSince !== undefined
  }

  /** Since a loss, until it is open again. */
  get isLost(): boolean {
    return this.#wasLost
  }

  close(): void {
    this.#closed = true
    clearTimeout(this.#retry)
    this.#connection?.close()
    this.#connection = undefined
    this.#openSince = undefined
  }

  #connect(): void {
    if (this.#closed) return
    this.#connection = this.#options.dial({ open: () => this.#onOpen(), lost: (error) => this.#onLost(error) })
  }

  #onOpen(): void {
    const { log, uri, onOpen } = this.#options
    this.#openSince = performance.now()
    log.info(this.#wasLost ? 'cot_receiver_back' : 'cot_receiver_connected', { uri })
    this.#wasLost = false
    onOpen()
  }

  #onLost(error: unknown): void {
    if (this.#closed) return
    const { log, uri, isNeeded } = this.#options
    if (this.#openSince !== undefined && performance.now() - this.#openSince >= GOOD_AFTER_MS) this.#backoff.reset()
    // Once per outage, not with each attempt.
    if (!this.#wasLost) log.warn('cot_receiver_lost', { uri, error: messageOf(error) })
    this.#wasLost = true
    this.#connection = undefined
    this.#openSince = undefined
    this.#retry = setTimeout(() => {
      this.#retry = undefined
      if (isNeeded()) this.#connect()
    }, this.#backoff.next(BACKOFF))
  }
}
