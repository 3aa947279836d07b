import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createGeolocationRecorder } from '../../lib/events/geolocation.ts'
import type { PipelineRecord } from '../../lib/repositories/repositories.ts'
import type { Geolocation } from '../../lib/schema/pipeline.ts'
import { createTestApi, simple } from '../helpers/api/api.ts'
import { useFakeTimers } from '../helpers/fake-timers.ts'

const place = (latitude: number): Geolocation => ({ latitude, longitude: 2, altitude: 3, heading: null })
const told = (latitude: number, id = 'uav-1') => ({ type: 'geolocation', id, geolocation: place(latitude) }) as const

const recorderOf = (stored: readonly string[]) => {
  const records = new Map(stored.map((id) => [id, { config: { id }, geolocation: null, updated_at: 7 } as unknown as PipelineRecord]))
  const written: [id: string, latitude: number | undefined][] = []
  const recorder = createGeolocationRecorder({
    pipelines: {
      find: async (id) => records.get(id),
      setGeolocation: async (id, geolocation, updatedAt) => {
        expect(updatedAt).toBe(7)
        written.push([id, geolocation?.latitude])
        byHand(id, geolocation)
        return true
      },
    },
    log: { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} },
  })
  const byHand = (id: string, geolocation: Geolocation | null): void => {
    const record = records.get(id)
    if (record !== undefined) records.set(id, { ...record, geolocation })
  }
  return { recorder, written, byHand }
}

describe('the last geolocation', () => {
  beforeEach(() => {
    useFakeTimers()
  })
  afterEach(() => {
    vi.useRealTimers()
  })

  it('is written at once, then at most once a second, and the newest one last', async () => {
    const { recorder, written } = recorderOf(['uav-1', 'uav-2'])
    for (let step = 1; step <= 30; step++) {
      recorder.push(told(step))
      if (step === 5) recorder.push(told(50, 'uav-2'))
      await vi.advanceTimersByTimeAsync(100)
    }
    await vi.advanceTimersByTimeAsync(5000)
    expect(written.filter(([id]) => id === 'uav-1').map(([, latitude]) => latitude)).toEqual([1, 10, 20, 30])
    expect(written.filter(([id]) => id === 'uav-2')).toEqual([['uav-2', 50]])
    expect(vi.getTimerCount()).toBe(0)
  })

  it('is not written when it is unchanged or the pipeline is not stored', async () => {
    const { recorder, written } = recorderOf(['uav-1'])
    for (let step = 0; step < 3; step++) {
      recorder.push(told(1))
      recorder.push(told(1, 'gone'))
      await vi.advanceTimersByTimeAsync(1500)
    }
    expect(written).toEqual([['uav-1', 1]])
  })

  it('set by a client is kept until the engine reports a newer one', async () => {
    const { recorder, written, byHand } = recorderOf(['uav-1'])
    recorder.push(told(1))
    await vi.advanceTimersByTimeAsync(200)
    recorder.push(told(2))
    byHand('uav-1', null)
    await vi.advanceTimersByTimeAsync(1000)
    expect(written).toEqual([['uav-1', 1]])
    recorder.push(told(3))
    await vi.advanceTimersByTimeAsync(1000)
    expect(written).toEqual([
      ['uav-1', 1],
      ['uav-1', 3],
    ])
  })

  it('leaves no timer after close', async () => {
    const { recorder, written } = recorderOf(['uav-1'])
    recorder.push(told(1))
    recorder.push(told(2))
    recorder.close()
    expect(vi.getTimerCount()).toBe(0)
    await vi.advanceTimersByTimeAsync(5000)
    expect(written).toEqual([['uav-1', 1]])
  })
})

describe('a geolocation from the engine', () => {
  it('is in every answer, does not change updated_at and causes no event', async () => {
    await using api = await createTestApi()
    const created = await api.given(simple('uav-1'))
    const statuses: unknown[] = []
    api.deps.events.feed.subscribe({ onEvent: (event) => statuses.push(event), onEnd: () => {} })
    api.deps.geolocations.push(told(60))
    await vi.waitFor(async () => {
      const read = (await (await api.send('GET', '/svc/pipeline/uav-1')).json()) as Record<string, unknown>
      expect(read).toMatchObject({ geolocation: place(60), updated_at: created.updated_at })
    })
    const status = await api.deps.events.status('uav-1')
    expect(status()).toMatchObject([{ data: { geolocation: place(60) } }])
    expect(statuses).toEqual([])
    api.deps.geolocations.close()
  })
})
