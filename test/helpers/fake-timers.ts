import { afterEach, beforeEach, vi } from 'vitest'

/** Fake timers in each test of the file or of the describe. */
export const fakeTimersInEachTest = (): void => {
  beforeEach(() => {
    vi.useFakeTimers()
  })
  afterEach(() => {
    vi.useRealTimers()
  })
}
