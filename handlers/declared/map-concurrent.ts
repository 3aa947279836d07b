/** Each step may start a process. */
const MAX_CONCURRENT = 4

/** Works on a few items at once; answers the results in the order of the items. */
export const mapConcurrent = async <T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<readonly R[]> => {
  const results: R[] = []
  let next = 0
  const worker = async (): Promise<void> => {
    while (next < items.length) {
      const at = next++
      results[at] = await work(items[at] as T)
    }
  }
  await Promise.all(Array.from({ length: Math.min(MAX_CONCURRENT, items.length) }, worker))
  return results
}
