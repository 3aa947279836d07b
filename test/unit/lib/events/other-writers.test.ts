import { expect, it, vi } from 'vitest'
import { EngineMirror, readViews } from '../../../../lib/engine/mirror.ts'
import { createEventHub } from '../../../../lib/events/hub.ts'
import { withOtherWriters } from '../../../../lib/events/other-writers.ts'
import type { PipelineRecord } from '../../../../lib/repositories/repositories.ts'
import { fakeTimersInEachTest } from '../../../helpers/fake-timers.ts'
import { pipelineRecord, START } from '../../../helpers/fakes/pipeline-record.ts'
import { pipelineView } from '../../../helpers/fakes/pipeline-view.ts'
import { silentLog } from '../../../helpers/rtsp/media.ts'

fakeTimersInEachTest()

const VIEW = pipelineView('theirs', { phase: 'idle' })
const CREATED = { type: 'pipeline', view: VIEW } as const
const REMOVED = { type: 'pipeline_removed', id: 'theirs' } as const

/** A hub whose database another process writes: `stored` is what is in it. */
const setUp = () => {
  const [stored, published] = [new Map<string, PipelineRecord>(), [] as string[]]
  const engine = { view: async () => VIEW, list: async () => [VIEW], listRunning: async () => [] }
  const mirror = new EngineMirror({ exclusive: false })
  const pipelines = { find: async (id: string) => stored.get(id), list: async () => [...stored.values()] }
  const deps = { pipelines, views: readViews(engine, mirror), mirror, engineAtOnce: engine, log: silentLog, startedAt: START }
  const hub = withOtherWriters(createEventHub(deps))
  hub.feed.subscribe({ onEvent: ({ event }) => void published.push(event), onEnd: () => {} })
  return { hub, published, store: () => stored.set('theirs', pipelineRecord('theirs')), remove: () => stored.delete('theirs') }
}

it('shows a pipeline of another process that is stored after its event, and its removal, each once', async () => {
  const { hub, published, store, remove } = setUp()
  hub.push(CREATED)
  await vi.advanceTimersByTimeAsync(100)
  store()
  await vi.advanceTimersByTimeAsync(5000)
  expect(published).toEqual(['pipeline_status'])
  hub.push(REMOVED)
  await vi.advanceTimersByTimeAsync(1000)
  remove()
  await vi.advanceTimersByTimeAsync(5000)
  expect(published).toEqual(['pipeline_status', 'pipeline_not_found'])
})

it('shows the removal of one that was removed at once: published, or shown as the present status alone', async () => {
  const [seen, shown] = [setUp(), setUp()]
  seen.store()
  seen.hub.push(CREATED)
  shown.hub.push(CREATED)
  await vi.advanceTimersByTimeAsync(10)
  shown.store()
  expect((await shown.hub.status('theirs'))()).toHaveLength(1)
  for (const { hub, remove } of [seen, shown]) {
    remove()
    hub.push(REMOVED)
  }
  await vi.advanceTimersByTimeAsync(5000)
  expect([seen.published, shown.published]).toEqual([['pipeline_status', 'pipeline_not_found'], ['pipeline_not_found']])
})

it('shows nothing of a pipeline that is never stored, and reads nothing once it is closed', async () => {
  const { hub, published, store } = setUp()
  hub.push(CREATED)
  hub.push(REMOVED)
  await vi.advanceTimersByTimeAsync(5000)
  hub.push(CREATED)
  await vi.advanceTimersByTimeAsync(10)
  store()
  hub.feed.close()
  expect([published, vi.getTimerCount()]).toEqual([[], 0])
})
