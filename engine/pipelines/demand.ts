import type { Session } from './play.ts'

/** What the readers' side needs of its pipeline. */
export interface DemandHost {
  /** The session under way; one that is being ended counts no more. */
  readonly session: () => Session | undefined
  /** The pipeline may be started by a reader. */
  readonly listens: () => boolean
  /** Readers that are attached now. */
  readonly readers: () => number
  /** Starts it for a reader; rejects with ApiError. */
  readonly start: () => Promise<unknown>
  readonly stop: () => void
  readonly disconnectReaders: () => void
  readonly closeAfterMs: () => number
  readonly onStartFailed: (error: unknown) => void
}

/** What readers bring about at an on-demand pipeline: the first one starts it, and it is stopped some time after the last. */
export class ReaderDemand {
  readonly #host: DemandHost
  #count = 0
  #idleTimer: NodeJS.Timeout | undefined

  constructor(host: DemandHost) {
    this.#host = host
  }

  /** The start that a reader who asks for the description waits for; undefined when it runs already, or no reader may start it. */
  describe(): Promise<unknown> | undefined {
    const session = this.#host.session()
    if (session !== undefined) return session.patient || session.hadMedia ? undefined : session.started()
    return this.#host.listens() ? this.#start() : undefined
  }

  /** The number of readers has changed. */
  count(count: number): void {
    const joined = count > this.#count
    this.#count = count
    // One that described the stream while it played, and plays it after it was stopped, asks for it no less than one that describes it now.
    if (joined && this.#host.session() === undefined && this.#host.listens()) {
      this.#start().catch(() => this.#host.disconnectReaders())
    }
    this.closeWhenIdle()
  }

  /** Of a pipeline that a reader started: waits until the last reader has been gone for a while. */
  closeWhenIdle(): void {
    this.forget()
    const session = this.#host.session()
    if (session === undefined || this.#host.readers() > 0 || !session.byReader) return
    this.#idleTimer = setTimeout(() => {
      if (this.#host.session() === session && session.byReader && this.#host.readers() === 0) this.#host.stop()
    }, this.#host.closeAfterMs())
  }

  /** Waits for nothing any more. */
  forget(): void {
    clearTimeout(this.#idleTimer)
  }

  #start(): Promise<unknown> {
    const start = this.#host.start()
    start.catch((error: unknown) => this.#host.onStartFailed(error))
    return start
  }
}
