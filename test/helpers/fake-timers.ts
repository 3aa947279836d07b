import { vi } from 'vitest'

/**
 * Fake timers for the code under test. Packages and Node itself, such as fetch for the connections that it keeps alive from earlier
 * tests in this process, keep the real setTimeout, so that their timers neither stop nor count.
 */
export const useFakeTimers = (): void => {
  const real = globalThis.setTimeout
  vi.useFakeTimers()
  const fake = globalThis.setTimeout
  const either = (...args: Parameters<typeof setTimeout>) =>
    (/node_modules|node:/.test(new Error('caller').stack?.split('\n')[2] ?? '') ? real : fake)(...args)
  globalThis.setTimeout = Object.assign(either, fake)
}
