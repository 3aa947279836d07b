import { type Signal, signal } from '@preact/signals'
import type { StreamEvent } from '../../../client/client.ts'
import { ApiError, api } from './api.ts'
import { follow, isInUse, sleep, untilVisible } from './follow.ts'
import { forget, remember } from './history.ts'
import type { Pipeline } from './types.ts'

/** Every pipeline by id; each has a signal of its own, so that a change draws one card only. */
export const pipelines = signal<ReadonlyMap<string, Signal<Pipeline>>>(new Map())
/** false until the first list has come. */
export const loaded = signal(false)
/** What the API says instead of the list, such as that it does not know the host name of this page; undefined once it lists them. */
export const refusal = signal<string | undefined>(undefined)
/** Whether events come, or at least lists where the page is not in use; undefined while the page opens. */
export const connected = signal<boolean | undefined>(undefined)
/** Grows when a camera comes or goes. */
export const cameraChanges = signal(0)
/** The last fault of each pipeline that has not played since, in words. */
export const faults = signal<ReadonlyMap<string, { readonly message: string; readonly reason: string }>>(new Map())

/** Events tell every change of state; frame rate, bitrate and readers change all the time and are asked for. */
const POLL_MS = 2000

/** When the last event of each pipeline came: an answer that was on its way by then is older than the event. */
const eventAt = new Map<string, number>()

export const put = (pipeline: Pipeline): void => {
  const known = pipelines.peek().get(pipeline.id)
  if (known === undefined) pipelines.value = new Map(pipelines.peek()).set(pipeline.id, signal(pipeline))
  else known.value = pipeline
}

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

/** Takes a pipeline that the API answered to a change that this page made. */
export const take = (pipeline: Pipeline): void => {
  eventAt.set(pipeline.id, performance.now())
  put(pipeline)
}

/** Keeps `pipelines` up to date until the signal aborts. */
export const keepPipelines = (abort: AbortSignal): void => {
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

const poll = async (abort: AbortSignal): Promise<void> => {
  while (!abort.aborted) {
    await untilVisible(abort)
    const asked = performance.now()
    try {
      const list = await api.listPipelines({ signal: abort })
      takeList(list, asked)
      loaded.value = true
      refusal.value = undefined
      if (!abort.aborted) connected.value = true
    } catch (error) {
      // The next round asks again.
      const isRefused = error instanceof ApiError
      if (!abort.aborted && !(isRefused && isInUse())) connected.value = false
      refusal.value = isRefused ? error.message : undefined
    }
    await sleep(POLL_MS, abort)
  }
}

const takeList = (list: readonly Pipeline[], asked: number): void => {
  const isOlder = (id: string): boolean => (eventAt.get(id) ?? 0) > asked
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
