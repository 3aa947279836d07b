import { describe, expect, it } from 'vitest'
import { type Removed, Retention } from '../../../../engine/recordings/retention.ts'
import { DEFAULT_SETTINGS } from '../../../../lib/schema/settings.ts'
import { temporaryDataDir } from '../../../helpers/process/temporary-data-dir.ts'
import { silentLog } from '../../../helpers/rtsp/media.ts'

const HOUR = 3_600_000
const BEGIN = Date.parse('2026-11-20T10:00:00Z')

/** A pipeline with a segment an hour, of the last ten; answers which are left after a trim. */
const setUp = (maxHours: number) => {
  const clock = { now: BEGIN }
  let segments = Array.from({ length: 10 }, (_, at) => ({
    ...{ pipeline_id: 'gate', bytes: 100 },
    started_at: BEGIN - (10 - at) * HOUR,
    ended_at: BEGIN - (9 - at) * HOUR,
  }))
  const ANSWERS: Readonly<Record<string, (...args: unknown[]) => unknown>> = {
    total: () => segments.reduce((sum, { bytes }) => sum + bytes, 0),
    oldest: (limit) => segments.slice(0, Number(limit)),
    remove: (_id, starts) => {
      segments = segments.filter(({ started_at }) => !(starts as number[]).includes(started_at))
    },
    forgetSeen: () => undefined,
  }
  const folder = temporaryDataDir()
  const settings = { ...DEFAULT_SETTINGS.recordings, max_hours: maxHours, min_free_gigabytes: 0 }
  const pipeline = { path: folder, removing: async () => {}, fileOf: (at: number) => `${folder}/none/${at}` }
  const retention = new Retention({
    ...{ folder, settings: () => settings, now: () => clock.now, log: silentLog },
    index: { flush: async () => {}, ask: async (method: string, ...args: unknown[]) => ANSWERS[method]?.(...args) } as never,
    folderOf: () => pipeline as never,
  })
  const left = async (): Promise<number> => {
    await retention.trim()
    return segments.length
  }
  return { clock, settings, left, retention }
}

describe('the retention of recordings', () => {
  it('deletes what is too old, the oldest first, and what is too much', async () => {
    const { settings, left, retention } = setUp(4.5)
    expect(await left()).toBe(5)
    settings.max_gigabytes = 300e-9
    expect(await left()).toBe(3)
    const removed: Removed = await retention.removeBefore('gate', BEGIN - HOUR)
    expect([removed, await left()]).toEqual([{ deleted: 2, bytes: 200 }, 1])
  })

  it('deletes nothing for its age when the clock of the host was set ahead, and goes on within size', async () => {
    const { clock, settings, left } = setUp(24)
    expect(await left()).toBe(10)
    clock.now += 365 * 24 * HOUR
    expect([await left(), await left()]).toEqual([10, 10])
    settings.max_gigabytes = 500e-9
    expect(await left()).toBe(5)
  })
})
