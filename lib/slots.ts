/** Runs jobs, a bounded number at a time. */
export interface Slots {
  /** Runs the job when a slot is free; throws `refusal` when too many jobs wait already. */
  run<T>(job: () => Promise<T>): Promise<T>
  /** Whether no job runs. */
  readonly idle: boolean
}

interface SlotBounds {
  readonly running: number
  readonly waiting: number
  readonly refusal: () => Error
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
