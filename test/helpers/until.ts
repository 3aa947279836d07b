/** Polls until the answer satisfies the condition; throws with the last answer after `patienceMs`. */
export const until = async <T>(ask: () => T | Promise<T>, holds: (answer: T) => boolean, patienceMs = 20_000): Promise<T> => {
  const deadline = performance.now() + patienceMs
  for (;;) {
    const answer = await ask()
    if (holds(answer)) return answer
    if (performance.now() > deadline) throw new Error(`still not so after ${patienceMs} ms: ${JSON.stringify(answer)}`)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}
