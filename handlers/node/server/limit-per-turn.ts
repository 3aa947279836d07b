/** Most requests that begin in one turn of the event loop: a few milliseconds of work. */
const PER_TURN = 16

/**
 * Limits the calls in one turn of the event loop and keeps their order, so that timers and other sockets are served while
 * many clients send at once.
 */
export const limitPerTurn = <Args extends readonly unknown[]>(
  call: (...args: Args) => void,
  perTurn = PER_TURN,
): ((...args: Args) => void) => {
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
    // Keeps the order: a new call waits while earlier ones wait.
    if (begun >= perTurn || waiting.length > 0) {
      waiting.push(args)
      return
    }
    begun += 1
    call(...args)
  }
}
