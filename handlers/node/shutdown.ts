import type { Server } from 'node:http'
import { within } from '../../lib/pause.ts'
import type { Log } from '../../lib/ports.ts'
import { drain } from './server/drain.ts'
import type { Service } from './service.ts'

/** From the signal to the end of the process at the latest, milliseconds. */
const END_WITHIN_MS = 9500
/** An interrupted start gets this time to reach its next step, which ends what it has opened. Milliseconds. */
const START_GRACE_MS = 2000
/** Time that running requests have before their connections are closed, milliseconds. */
const DRAIN_MS = { stop: 2500, leave: 5000 } as const

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

type How = 'stop' | 'leave'

/** What a start has opened. */
interface Opened {
  readonly service?: Service
  readonly server?: Server
  readonly log?: Log
}

/**
 * Ends the process in order, once: drains the servers, stops the service or leaves its engine running, and exits. Loaded first, so
 * that it also handles a signal during the start.
 */
export class Shutdown {
  readonly #servers: Server[] = []
  readonly #started = Promise.withResolvers<void>()
  #service: Service | undefined
  #log: Log | undefined
  #requested = false

  /** A signal may come more than once: a terminal sends it to each process, and npm forwards it. */
  onSignals(): this {
    for (const signal of SIGNALS) process.on(signal, () => void this.request(signal, 'stop'))
    return this
  }

  get requested(): boolean {
    return this.#requested
  }

  /** Adds what the shutdown ends. False: the end was requested, so the start must not continue. */
  add({ service, server, log }: Opened): boolean {
    this.#service ??= service
    this.#log ??= log
    if (server !== undefined) this.#servers.push(server)
    if (this.#requested) this.started()
    return !this.#requested
  }

  /** Everything is open, or the start has failed. */
  started(): void {
    this.#started.resolve()
  }

  async request(reason: string, how: How): Promise<void> {
    if (this.#requested) return
    this.#requested = true
    this.#log?.info('service_stopping', { reason })
    this.#service?.prepareToStop()
    setTimeout(() => this.#giveUp(how), END_WITHIN_MS).unref()
    try {
      await within(this.#started.promise, START_GRACE_MS)
      this.#service?.prepareToStop()
      await Promise.all(this.#servers.map((server) => drain(server, DRAIN_MS[how])))
      await this.#service?.[how]()
      process.exit(0)
    } catch (error) {
      this.#log?.error('service_stop_failed', { error })
      this.#exit(how)
    }
  }

  #giveUp(how: How): void {
    this.#log?.error('service_stop_overdue', { after_ms: END_WITHIN_MS })
    this.#exit(how)
  }

  /** At once. The children of the engine end with it. */
  #exit(how: How): void {
    if (how === 'stop') this.#service?.killEngine()
    process.exit(1)
  }
}
