/** Most keys remembered; only requests whose credentials are being checked need them. */
const MAX_KEYS = 1000

/** Restores the order of arrival, which the parallel check of credentials changes. */
export const createArrivalOrder = () => {
  const latest = new Map<string, { readonly action: string; readonly arrivedAt: number }>()
  return {
    /** False when a request for the opposite that arrived later (monotonic milliseconds) was accepted already. */
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
