/** The result of work that yields now and then. */
export const atOnce = <Result>(work: Generator<void, Result>): Result => {
  for (;;) {
    const step = work.next()
    if (step.done === true) return step.value
  }
}
