import { type Signal, signal } from '@preact/signals'
import type { StreamEvent } from '../../../client/client.ts'
import { ApiError, api } from './api.ts'
import { follow, isInUse, whileVisible } from './follow.ts'
import { forget, remember } from './history.ts'
import type { Pipeline } from './types.ts'

/** Every pipeline by id; each has a signal of its own, so that a change draws one card only. */
export const pipelines = signal<ReadonlyMap<string, Signal<Pipeline>>>(new Map())
/** false until the first list has come. */
export const loaded = signal(false)
/** Why the API refuses the list, such as an unknown host name of this page; undefined once it answers the list. */
export const refusal = signal<string | undefined>(undefined)
/** Whether events or, in a page without focus, lists are received; undefined while the page opens. */
export const connected = signal<boolean | undefined>(undefined)
/** Grows when a camera comes or goes. */
export const cameraChanges = signal(0)
/** The last fault of each pipeline that has not played since, in words. */
export const faults = signal<ReadonlyMap<string, { readonly message: string; readonly reason: string }>>(new Map())

/** Events report changes of state; frame rate, bitrate and readers are polled. */
const POLL_MS = 2000

/** Arrival of the last event of each pipeline: an answer to an earlier request is older than the event. */
const eventAt = new Map<string, number>()

export const drop = (id: string): void => {
  const rest = new Map(pipelines.peek())
  if (!rest.delete(id)) return
  pipelines.value = rest
  forgetGone(id)
}

const forgetGone = (id: string): void => {
  forget(id)
  clearFault(id)
}

/** Stores the answer to a change that this page made. */
export const take = (pipeline: Pipeline): void => {
  eventAt.set(pipeline.id, performance.now())
  const known = pipelines.peek().get(pipeline.id)
  if (known === undefined) pipelines.value = new Map(pipelines.peek()).set(pipeline.id, signal(pipeline))
  else known.value = pipeline
}

/** Keeps `pipelines` up to date until the signal aborts. */
export const followPipelines = (abort: AbortSignal): void => {
  connected.value = undefined
  const onConnection = (isConnected: boolean): void => {
    connected.value = isConnected
  }
  void follow({ open: api.followEverything, signal: abort, onEvent, onConnection })
  void poll(abort)
}

const onEvent = ({ event, data }: StreamEvent): void => {
  if (event === 'pipeline_status') {
    const pipeline = data as Pipeline
    take(pipeline)
    if (pipeline.runtime.phase === 'playing' || pipeline.runtime.phase === 'idle') clearFault(pipeline.id)
  } else if (event === 'pipeline_not_found') {
    const { pipeline_id } = data as { pipeline_id: string }
    eventAt.set(pipeline_id, performance.now())
    drop(pipeline_id)
  } else if (event === 'pipeline_error') {
    const { pipeline_id, message, reason } = data as { pipeline_id: string; message: string; reason: string }
    faults.value = new Map(faults.peek()).set(pipeline_id, { message, reason })
  } else if (event === 'camera_added' || event === 'camera_removed') {
    cameraChanges.value++
  }
}

const clearFault = (id: string): void => {
  const rest = new Map(faults.peek())
  if (rest.delete(id)) faults.value = rest
}

const poll = (abort: AbortSignal): Promise<void> =>
  whileVisible(abort, async () => {
    const sentAt = performance.now()
    try {
      takeList(await api.listPipelines({ signal: abort }), sentAt)
      loaded.value = true
      refusal.value = undefined
      if (!abort.aborted) connected.value = true
    } catch (error) {
      const isRefused = error instanceof ApiError
      if (!abort.aborted && !(isRefused && isInUse())) connected.value = false
      refusal.value = isRefused ? error.message : undefined
    }
    return POLL_MS
  })

const takeList = (list: readonly Pipeline[], sentAt: number): void => {
  const isOlder = (id: string): boolean => (eventAt.get(id) ?? 0) > sentAt
  const known = pipelines.peek()
  const fresh = list.filter(({ id }) => !isOlder(id))
  const added = fresh.filter(({ id }) => !known.has(id))
  for (const pipeline of fresh) {
    const slot = known.get(pipeline.id)
    if (slot !== undefined) slot.value = pipeline
  }
  const ids = new Set(list.map(({ id }) => id))
  const gone = [...known.keys()].filter((id) => !ids.has(id) && !isOlder(id))
  if (added.length + gone.length > 0) {
    const next = new Map(known)
    for (const pipeline of added) next.set(pipeline.id, signal(pipeline))
    for (const id of gone) next.delete(id)
    pipelines.value = next
  }
  for (const id of gone) forgetGone(id)
  remember(list)
}
