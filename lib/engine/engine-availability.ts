import { pause } from '../pause.ts'
import { type EngineAddress, engineUnavailable } from './caller.ts'

/** Most calls that wait for an engine at once; more are refused. */
const MAX_WAITING = 256
/** A connection of a call and that of the events end together; after this the engine is there, and only the call has failed. Milliseconds. */
const NOTICE_MS = 1000

/** Where the engine is, for those who call it. */
export interface EngineGate {
  /** Undefined while no engine may be called. */
  readonly address: () => EngineAddress | undefined
  /** Resolves when an engine may be called; SERVICE_UNAVAILABLE when none is expected, or does not come in time. */
  enter(): Promise<EngineAddress>
  /** Whether another engine has come, or comes in time, in the place of this one. */
  hasNext(ended: EngineAddress): Promise<boolean>
}

interface Waiting {
  readonly resolve: (address: EngineAddress) => void
  readonly reject: (error: Error) => void
}

/** Lets calls through to the engine, and keeps them waiting, a bounded time and in a bounded number, while one is expected. */
export class EngineDoor implements EngineGate {
  #address: EngineAddress | undefined
  /** Runs while an engine is expected. */
  #timer: ReturnType<typeof setTimeout> | undefined
  #moved = new AbortController()
  #patient = true
  readonly #waiting = new Set<Waiting>()

  readonly address = (): EngineAddress | undefined => this.#address

  get waiting(): number {
    return this.#waiting.size
  }

  /** An engine is there. */
  open(address: EngineAddress): void {
    this.#move(address)
    for (const { resolve } of this.#take()) resolve(address)
  }

  /** No engine is there, and one is expected within this time, milliseconds. */
  expect(ms: number): void {
    this.#move(undefined)
    if (this.#patient) this.#timer = setTimeout(() => this.shut(), ms)
    else this.shut()
  }

  /** No engine is there, and nobody is to wait for one. */
  shut(): void {
    this.#move(undefined)
    for (const { reject } of this.#take()) reject(engineUnavailable(new Error('no engine came in time')))
  }

  /** What waits is refused, and so is what comes while no engine is there. */
  stopWaiting(): void {
    this.#patient = false
    if (this.#address === undefined) this.shut()
  }

  enter(): Promise<EngineAddress> {
    if (this.#address !== undefined) return Promise.resolve(this.#address)
    if (this.#timer === undefined || this.#waiting.size >= MAX_WAITING) return Promise.reject(engineUnavailable())
    return new Promise((resolve, reject) => this.#waiting.add({ resolve, reject }))
  }

  async hasNext(ended: EngineAddress): Promise<boolean> {
    if (this.#address === ended) await pause(NOTICE_MS, this.#moved.signal)
    if (this.#address === ended) return false
    try {
      const { token, url } = await this.enter()
      return token !== ended.token || url !== ended.url
    } catch {
      return false
    }
  }

  #move(address: EngineAddress | undefined): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#address = address
    this.#moved.abort()
    this.#moved = new AbortController()
  }

  #take(): readonly Waiting[] {
    const waiting = [...this.#waiting]
    this.#waiting.clear()
    return waiting
  }
}
