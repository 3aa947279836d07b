/** Most keys remembered; only requests whose credentials are being checked at this moment need them. */
const MAX_KEYS = 1000

/** Requests are admitted out of order, since credentials are checked in parallel; what counts is the order in which they came. */
export const createArrivalOrder = () => {
  const latest = new Map<string, { readonly action: string; readonly arrivedAt: number }>()
  return {
    /** False: a request that came later (monotonic milliseconds) and wants the opposite has been taken already. */
    take(key: string, action: string, arrivedAt: number): boolean {
      const last = latest.get(key)
      if (last !== undefined && last.arrivedAt > arrivedAt) return last.action === action
      latest.delete(key)
      latest.set(key, { action, arrivedAt })
      const [oldest] = latest.keys()
      if (latest.size > MAX_KEYS && oldest !== undefined) latest.delete(oldest)
      return true
    },
  }
}
