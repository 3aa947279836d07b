/** Listeners of one event. An error of one affects neither the others nor the caller; the first of each is reported. */
export class Listeners<Args extends readonly unknown[]> {
  /** Both sets are created with their first member: each pipeline has six of these objects, and most are empty. */
  #listeners: Set<(...args: Args) => void> | undefined
  #faulty: WeakSet<(...args: Args) => void> | undefined
  readonly #onError: (error: unknown) => void

  constructor(onError: (error: unknown) => void = throwUncaught) {
    this.#onError = onError
  }

  /** Returns the function that unsubscribes. */
  add(listener: (...args: Args) => void): () => void {
    this.#listeners ??= new Set()
    this.#listeners.add(listener)
    return () => this.#listeners?.delete(listener)
  }

  call(...args: Args): void {
    if (this.#listeners === undefined) return
    for (const listener of this.#listeners) {
      try {
        listener(...args)
      } catch (error) {
        this.#report(listener, error)
      }
    }
  }

  // Once for each listener: it may throw with every access unit.
  #report(listener: (...args: Args) => void, error: unknown): void {
    this.#faulty ??= new WeakSet()
    if (this.#faulty.has(listener)) return
    this.#faulty.add(listener)
    this.#onError(error)
  }
}

/** As an EventTarget does. */
const throwUncaught = (error: unknown): void =>
  queueMicrotask(() => {
    throw error
  })
