import { getEventListeners } from 'node:events'
import { expect, it, vi } from 'vitest'
import { pause, within } from '../../../lib/pause.ts'
import { fakeTimersInEachTest } from '../../helpers/fake-timers.ts'

fakeTimersInEachTest()

const left = (signal?: AbortSignal) => ({ timers: vi.getTimerCount(), listeners: signal ? getEventListeners(signal, 'abort').length : 0 })
const NOTHING = { timers: 0, listeners: 0 }

it.each([new AbortController().signal, undefined])('a pause ends after its time, and leaves no timer and no listener', async (signal) => {
  const ended = vi.fn()
  const paused = pause(1000, signal).then(ended)
  await vi.advanceTimersByTimeAsync(999)
  expect([ended.mock.calls.length, left(signal).timers]).toEqual([0, 1])
  await vi.advanceTimersByTimeAsync(1)
  await paused
  expect(left(signal)).toEqual(NOTHING)
})

it('a pause ends with its signal, also one that has aborted before, and leaves no timer and no listener', async () => {
  const controller = new AbortController()
  const paused = pause(1000, controller.signal)
  controller.abort()
  await paused
  await pause(1000, controller.signal)
  expect(left(controller.signal)).toEqual(NOTHING)
})

it('a promise within a time is its value, its error or undefined, and leaves no timer', async () => {
  expect([await within(Promise.resolve(7), 1000), left()]).toEqual([7, NOTHING])
  await expect(within(Promise.reject(new Error('no')), 1000)).rejects.toThrow('no')
  expect(left()).toEqual(NOTHING)
  const late = within(new Promise(() => {}), 1000)
  await vi.advanceTimersByTimeAsync(1000)
  expect([await late, left()]).toEqual([undefined, NOTHING])
})
