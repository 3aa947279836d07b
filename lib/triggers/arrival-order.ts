/** Most keys remembered; needed only for requests whose credentials are being checked right now. */
const MAX_KEYS = 1000

/** Restores the order of arrival: requests are admitted out of order because their credentials are checked in parallel. */
export const createArrivalOrder = () => {
  const latest = new Map<string, { readonly action: string; readonly arrivedAt: number }>()
  return {
    /** False when a request that arrived later (monotonic milliseconds) and asks for the opposite was already accepted. */
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
