import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { pause, within } from '../../../lib/pause.ts'
import { useFakeTimers } from '../../helpers/fake-timers.ts'

beforeEach(() => {
  useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

/** A signal that counts its listeners. */
const countedSignal = () => {
  const controller = new AbortController()
  const { signal } = controller
  let listeners = 0
  const [add, remove] = [signal.addEventListener.bind(signal), signal.removeEventListener.bind(signal)]
  signal.addEventListener = (...args: Parameters<typeof add>) => {
    listeners += 1
    add(...args)
  }
  signal.removeEventListener = (...args: Parameters<typeof remove>) => {
    listeners -= 1
    remove(...args)
  }
  return { controller, signal, listeners: () => listeners }
}

const stateOf = async (promise: Promise<void>): Promise<string> => Promise.race([promise.then(() => 'over'), Promise.resolve('pausing')])

describe('a pause', () => {
  it('lasts as long as it says, and leaves no timer and no listener', async () => {
    const { signal, listeners } = countedSignal()
    const paused = pause(1000, signal)
    await vi.advanceTimersByTimeAsync(999)
    expect([await stateOf(paused), listeners()]).toEqual(['pausing', 1])
    await vi.advanceTimersByTimeAsync(1)
    await paused
    expect([listeners(), vi.getTimerCount()]).toEqual([0, 0])
  })

  it('ends with its signal, and leaves no timer and no listener', async () => {
    const { controller, signal, listeners } = countedSignal()
    const paused = pause(1000, signal)
    controller.abort()
    await paused
    expect([listeners(), vi.getTimerCount()]).toEqual([0, 0])
  })

  it('is over at once when its signal has aborted before', async () => {
    await pause(1000, AbortSignal.abort())
    expect(vi.getTimerCount()).toBe(0)
  })

  it('needs no signal', async () => {
    const paused = pause(1000)
    await vi.advanceTimersByTimeAsync(1000)
    await paused
    expect(vi.getTimerCount()).toBe(0)
  })
})

describe('a promise within a time', () => {
  it('is what it resolves to or undefined, and leaves no timer', async () => {
    expect([await within(Promise.resolve(7), 1000), vi.getTimerCount()]).toEqual([7, 0])
    await expect(within(Promise.reject(new Error('no')), 1000)).rejects.toThrow('no')
    expect(vi.getTimerCount()).toBe(0)
    const late = within(new Promise(() => {}), 1000)
    await vi.advanceTimersByTimeAsync(1000)
    expect([await late, vi.getTimerCount()]).toEqual([undefined, 0])
  })
})
