import { describe, expect, it, vi } from 'vitest'
import { createGeolocationRecorder } from '../../../../lib/events/geolocation.ts'
import type { Geolocation } from '../../../../lib/schema/pipeline.ts'
import { fakeTimersInEachTest } from '../../../helpers/fake-timers.ts'
import { pipelineRecord } from '../../../helpers/fakes/pipeline-record.ts'
import { silentLog } from '../../../helpers/rtsp/media.ts'

const place = (latitude: number): Geolocation => ({ latitude, longitude: 2, altitude: 3, heading: null })
const positionOf = (latitude: number, id = 'uav-1') => ({ type: 'geolocation', id, geolocation: place(latitude) }) as const

const recorderOf = (stored: readonly string[]) => {
  const records = new Map(stored.map((id) => [id, pipelineRecord(id, {}, { updated_at: 7 })]))
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
    log: silentLog,
  })
  const byHand = (id: string, geolocation: Geolocation | null): void => {
    const record = records.get(id)
    if (record !== undefined) records.set(id, { ...record, geolocation })
  }
  return { recorder, written, byHand }
}

describe('the last geolocation', () => {
  fakeTimersInEachTest()

  it('is written at once, then at most once a second, and the newest one last', async () => {
    const { recorder, written } = recorderOf(['uav-1', 'uav-2'])
    for (let step = 1; step <= 30; step++) {
      recorder.push(positionOf(step))
      if (step === 5) recorder.push(positionOf(50, 'uav-2'))
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
      recorder.push(positionOf(1))
      recorder.push(positionOf(1, 'gone'))
      await vi.advanceTimersByTimeAsync(1500)
    }
    expect(written).toEqual([['uav-1', 1]])
  })

  it('set by a client is kept until the engine reports a newer one', async () => {
    const { recorder, written, byHand } = recorderOf(['uav-1'])
    recorder.push(positionOf(1))
    await vi.advanceTimersByTimeAsync(200)
    recorder.push(positionOf(2))
    byHand('uav-1', null)
    await vi.advanceTimersByTimeAsync(1000)
    expect(written).toEqual([['uav-1', 1]])
    recorder.push(positionOf(3))
    await vi.advanceTimersByTimeAsync(1000)
    expect(written).toEqual([
      ['uav-1', 1],
      ['uav-1', 3],
    ])
  })

  it('leaves no timer after close', async () => {
    const { recorder, written } = recorderOf(['uav-1'])
    recorder.push(positionOf(1))
    recorder.push(positionOf(2))
    recorder.close()
    expect(vi.getTimerCount()).toBe(0)
    await vi.advanceTimersByTimeAsync(5000)
    expect(written).toEqual([['uav-1', 1]])
  })
})
