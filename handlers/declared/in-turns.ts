/** Works on each item, on at most so many at one time; answers in their order. */
export const inTurns = async <T, R>(items: readonly T[], most: number, work: (item: T) => Promise<R>): Promise<readonly R[]> => {
  const results: R[] = []
  let next = 0
  const worker = async (): Promise<void> => {
    while (next < items.length) {
      const at = next++
      results[at] = await work(items[at] as T)
    }
  }
  await Promise.all(Array.from({ length: Math.min(most, items.length) }, worker))
  return results
}
