import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { PipelineConfig } from '../../../../lib/schema/pipeline.ts'
import { PLAN, startPlay } from '../../../helpers/fakes/play.ts'

/** A play whose camera is unplugged after its first media; `plugIn` is what the camera monitor calls. */
const unplug = () => {
  const listeners = new Set<() => void>()
  const planner = {
    plan: async () => PLAN,
    onReturn: (_config: PipelineConfig, callback: () => void) => {
      listeners.add(callback)
      return () => listeners.delete(callback)
    },
  }
  const unplugged = { fault: 'device_missing', afterMs: 0 } as const
  const scripts = [{ mediaMs: 0, fault: 'device_missing' } as const, ...Array.from({ length: 50 }, () => unplugged)]
  const plugIn = (): void => {
    for (const listener of listeners) listener()
  }
  return { ...startPlay(scripts, { planner }), plugIn, listeners }
}

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

describe('reconnecting to a camera that was unplugged', () => {
  it('× a camera was plugged in: the next attempt comes at once, and the delays begin with the first again', async () => {
    const { play, runs, pauses, plugIn } = unplug()
    await vi.advanceTimersByTimeAsync(60_000)
    const attempts = runs.length
    const [first = 0] = pauses()
    expect(pauses().at(-1)).toBeGreaterThan(first * 4)
    plugIn()
    await vi.advanceTimersByTimeAsync(0)
    expect(runs).toHaveLength(attempts + 1)
    expect(pauses().at(-1)).toBeLessThan(first * 2)
    play.stop()
    await play.ended
  })

  it('× stop: the camera monitor is listened to only during a pause', async () => {
    const { play, listeners } = unplug()
    await vi.advanceTimersByTimeAsync(10_000)
    expect(listeners.size).toBe(1)
    play.stop()
    await play.ended
    expect(listeners.size).toBe(0)
  })
})
