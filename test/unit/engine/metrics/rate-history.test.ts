import { expect, it } from 'vitest'
import { RateHistory, SAMPLE_MS } from '../../../../engine/metrics/rate-history.ts'
import { pipelineView } from '../../../helpers/fakes/pipeline-view.ts'

const HOUR_MS = 3_600_000
const viewOf = (id: string, phase: 'playing' | 'idle', fps = 25) => {
  const view = pipelineView(id, { phase, desired: 'playing' })
  return { ...view, runtime: { ...view.runtime, fps, bitrate_kbps: 1000.4, readers: 2, last_frame_age_ms: null } }
}

it('has a sample every ten seconds of the last hour, oldest first', () => {
  const history = new RateHistory()
  for (let at = 0; at < 1000; at += 1) history.sample([viewOf('gate', 'playing', at)], at * SAMPLE_MS)
  const samples = history.of('gate', 999 * SAMPLE_MS)
  expect(samples.map(({ fps }) => fps)).toEqual(Array.from({ length: 360 }, (_, at) => 640 + at))
  expect(samples.at(-1)).toEqual({
    at: new Date(999 * SAMPLE_MS).toISOString(),
    fps: 999,
    bitrate_kbps: 1000,
    readers: 2,
    last_frame_age_ms: null,
  })
})

it('has none of a time at rest, of what is older than an hour, and of a pipeline that was removed', () => {
  const history = new RateHistory()
  history.sample([viewOf('gate', 'playing'), viewOf('yard', 'idle')], 0)
  history.sample([viewOf('gate', 'idle')], SAMPLE_MS)
  expect([history.of('gate', SAMPLE_MS).length, history.of('yard', SAMPLE_MS)]).toEqual([1, []])
  expect(history.of('gate', HOUR_MS + 1)).toEqual([])
  history.sample([], 2 * SAMPLE_MS)
  expect(history.of('gate', 2 * SAMPLE_MS)).toEqual([])
})
