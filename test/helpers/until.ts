/** Asks again and again until the answer holds; fails with the last answer when it does not within the patience. */
export const until = async <T>(ask: () => T | Promise<T>, holds: (answer: T) => boolean, patienceMs = 20_000): Promise<T> => {
  const deadline = performance.now() + patienceMs
  for (;;) {
    const answer = await ask()
    if (holds(answer)) return answer
    if (performance.now() > deadline) throw new Error(`still not so after ${patienceMs} ms: ${JSON.stringify(answer)}`)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}
