import { pause } from '../pause.ts'
import { type EngineAddress, engineUnavailable } from './caller.ts'

/** Most calls that wait for an engine at once; more are refused. */
const MAX_WAITING = 256
/** The loss of the engine is noticed this long after that of a call's connection, milliseconds; later, only the call has failed. */
const NOTICE_MS = 1000

interface Waiting {
  readonly resolve: (address: EngineAddress) => void
  readonly reject: (error: Error) => void
}

/** Where the engine is. While one is expected, calls wait for it, a bounded time and in a bounded number. */
export class EngineAvailability {
  #address: EngineAddress | undefined
  /** Runs while an engine is expected. */
  #timer: ReturnType<typeof setTimeout> | undefined
  #changed = new AbortController()
  #callersMayWait = true
  readonly #waiting = new Set<Waiting>()

  /** Undefined while no engine may be called. */
  readonly address = (): EngineAddress | undefined => this.#address

  get waiting(): number {
    return this.#waiting.size
  }

  setAvailable(address: EngineAddress): void {
    this.#change(address)
    for (const { resolve } of this.#takeWaiting()) resolve(address)
  }

  /** No engine is there, and one is expected within this time, milliseconds. */
  expect(ms: number): void {
    this.#change(undefined)
    if (this.#callersMayWait) this.#timer = setTimeout(() => this.setUnavailable(), ms)
    else this.setUnavailable()
  }

  /** No engine is there, and none is expected. */
  setUnavailable(): void {
    this.#change(undefined)
    for (const { reject } of this.#takeWaiting()) reject(engineUnavailable(new Error('no engine came in time')))
  }

  /** From now on no call waits for an engine. */
  refuseToWait(): void {
    this.#callersMayWait = false
    if (this.#address === undefined) this.setUnavailable()
  }

  /** Resolves when an engine may be called; SERVICE_UNAVAILABLE when none is expected, or does not come in time. */
  untilAvailable(): Promise<EngineAddress> {
    if (this.#address !== undefined) return Promise.resolve(this.#address)
    if (this.#timer === undefined || this.#waiting.size >= MAX_WAITING) return Promise.reject(engineUnavailable())
    return new Promise((resolve, reject) => this.#waiting.add({ resolve, reject }))
  }

  /** Whether another engine has come, or comes in time, in the place of this one. */
  async isReplaced(ended: EngineAddress): Promise<boolean> {
    if (this.#address === ended) await pause(NOTICE_MS, this.#changed.signal)
    if (this.#address === ended) return false
    try {
      const { token, url } = await this.untilAvailable()
      return token !== ended.token || url !== ended.url
    } catch {
      return false
    }
  }

  #change(address: EngineAddress | undefined): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#address = address
    this.#changed.abort()
    this.#changed = new AbortController()
  }

  #takeWaiting(): readonly Waiting[] {
    const waiting = [...this.#waiting]
    this.#waiting.clear()
    return waiting
  }
}
