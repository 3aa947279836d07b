/** Most requests that begin in one turn of the event loop: some milliseconds of work. */
const PER_TURN = 16

/**
 * Calls in the order in which they came, but no more than some in one turn of the event loop: whatever a crowd of clients sends at
 * once, timers and sockets of others get their turn in between.
 */
export const inTurns = <Args extends readonly unknown[]>(call: (...args: Args) => void, perTurn = PER_TURN): ((...args: Args) => void) => {
  const waiting: Args[] = []
  let begun = 0
  const nextTurn = (): void => {
    const batch = waiting.splice(0, perTurn)
    begun = batch.length
    if (begun > 0) setImmediate(nextTurn)
    for (const args of batch) call(...args)
  }
  return (...args) => {
    if (begun === 0) setImmediate(nextTurn)
    // Who comes while others wait comes after them.
    if (begun >= perTurn || waiting.length > 0) {
      waiting.push(args)
      return
    }
    begun += 1
    call(...args)
  }
}
