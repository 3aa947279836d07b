interface SlotBounds {
  readonly running: number
  readonly waiting: number
  readonly refusal: () => Error
}

/** Runs jobs, a bounded number at a time. */
export interface Slots {
  /** Runs the job when a slot is free; throws `refusal` when too many jobs wait already. */
  run<T>(job: () => Promise<T>): Promise<T>
  /** Whether no job runs. */
  readonly idle: boolean
}

/** Slots for jobs, first come, first served. */
export const createSlots = ({ running, waiting, refusal }: SlotBounds): Slots => {
  const queue: (() => void)[] = []
  let taken = 0
  const take = async (): Promise<void> => {
    if (taken < running) {
      taken += 1
      return
    }
    if (queue.length >= waiting) throw refusal()
    await new Promise<void>((resolve) => queue.push(resolve))
  }
  /** Hands the slot to the next job without freeing it in between. */
  const release = (): void => {
    const next = queue.shift()
    if (next === undefined) taken -= 1
    else next()
  }
  return {
    async run(job) {
      await take()
      try {
        return await job()
      } finally {
        release()
      }
    },
    get idle() {
      return taken === 0
    },
  }
}

export interface KeyedSlots {
  /** As `Slots.run`, with the slots of this key. */
  <T>(key: string, job: () => Promise<T>): Promise<T>
  /** Whether a job of this key runs. */
  isBusy(key: string): boolean
}

/** Separate slots for each key. */
export const createKeyedSlots = (boundsOf: (key: string) => SlotBounds): KeyedSlots => {
  const busy = new Map<string, Slots>()
  const run = async <T>(key: string, job: () => Promise<T>): Promise<T> => {
    const slots = busy.get(key) ?? createSlots(boundsOf(key))
    busy.set(key, slots)
    try {
      return await slots.run(job)
    } finally {
      if (slots.idle) busy.delete(key)
    }
  }
  return Object.assign(run, { isBusy: (key: string) => busy.has(key) })
}

/** Counts what is open, by key. */
export class Tally {
  readonly #counts = new Map<string, number>()

  get keys(): readonly string[] {
    return [...this.#counts.keys()]
  }

  of(key: string): number {
    return this.#counts.get(key) ?? 0
  }

  /** Counts one more until the returned function is called. */
  add(key: string): () => void {
    this.#counts.set(key, this.of(key) + 1)
    let isCounted = true
    return () => {
      if (!isCounted) return
      isCounted = false
      const left = this.of(key) - 1
      if (left > 0) this.#counts.set(key, left)
      else this.#counts.delete(key)
    }
  }
}

/** A reserved place. */
export interface Reservation {
  release(): void
}

interface Occupancy {
  /** Ids that have a place already. */
  readonly taken: Iterable<string>
  /** Throws when there is no place beside this number of others. */
  readonly requireFree: (others: number) => void
}

/**
 * Reserves places by id, one call after the other: each from its check until what has the id is listed by itself. An id has one place,
 * however often it is reserved.
 */
export const createReservations = (): ((id: string, look: () => Promise<Occupancy>) => Promise<Reservation>) => {
  const reserved = new Tally()
  let turn: Promise<unknown> = Promise.resolve()
  const reserve = async (id: string, look: () => Promise<Occupancy>): Promise<Reservation> => {
    // An id that moves to the list meanwhile may be missing in both: the reservations before the look count too.
    const before = reserved.keys
    const { taken, requireFree } = await look()
    const ids = new Set([...before, ...taken, ...reserved.keys])
    if (!ids.has(id)) requireFree(ids.size)
    return { release: reserved.add(id) }
  }
  return (id, look) => {
    const reservation = turn.then(() => reserve(id, look))
    turn = reservation.catch(() => undefined)
    return reservation
  }
}
