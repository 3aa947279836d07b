import { vi } from 'vitest'

/**
 * Fake timers for the code under test. Node's fetch takes the global setTimeout for the connections that it keeps alive: those of
 * earlier tests in this process keep the real one, so that they neither stop nor count as timers.
 */
export const useFakeTimers = (): void => {
  const real = globalThis.setTimeout
  vi.useFakeTimers()
  const fake = globalThis.setTimeout
  const either = (...args: Parameters<typeof setTimeout>) =>
    (new Error('who calls').stack?.includes('node:internal/deps/undici') ? real : fake)(...args)
  globalThis.setTimeout = Object.assign(either, fake)
}
