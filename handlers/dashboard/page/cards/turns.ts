/** Runs a few jobs at once, the others in their order, so that connections stay free for the actions of the user. */
export const createTurns = (atOnce: number): (<T>(job: () => Promise<T>) => Promise<T>) => {
  let running = 0
  const waiting: (() => void)[] = []
  return async (job) => {
    if (running >= atOnce) await new Promise<void>((resolve) => waiting.push(resolve))
    running++
    try {
      return await job()
    } finally {
      running--
      waiting.shift()?.()
    }
  }
}
