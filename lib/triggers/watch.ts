import { Backoff } from '../backoff.ts'
import type { EngineEvent } from '../engine/messages.ts'
import { hasCode, messageOf } from '../errors.ts'
import { pause } from '../pause.ts'
import type { Log } from '../ports.ts'
import type { MediaServerApi, PathListing } from './media-server-api.ts'
import type { Triggers } from './triggers.ts'

interface WatchDeps {
  readonly api: MediaServerApi
  readonly triggers: Triggers
  /** The paths that are watched. */
  readonly paths: RegExp
  readonly log: Log
  /** Ends the watch; published pipelines stay. */
  readonly signal: AbortSignal
  readonly pace?: Pace
}

/** Milliseconds. */
interface Pace {
  /** Time between two polls. */
  readonly pollMs: number
  /** Time before a stream is published again; doubles up to twelve times this. */
  readonly retryMs: number
}

export interface Watch {
  /** Publishes a stream again, after a pause, when its pipeline was removed. */
  onEvent(event: EngineEvent): void
  /** Resolves after the signal has aborted and all work has ended. */
  readonly ended: Promise<void>
}

/** MediaMTX, too, waits 5 s before it runs a hook again. */
const PACE: Pace = { pollMs: 1000, retryMs: 5000 }
const LONGEST_RETRY = 12

const CUT_ADVICE =
  'The list has more paths than are read, so no stream counts as ended; a pipeline is removed after triggers.give_up_after_seconds. Use the hooks, or a second media server.'

/** A path with media, from the first poll that lists it until one does not. */
interface Stream {
  since: string | null
  /** Begin of the newest poll that lists it, monotonic milliseconds; the arrival time of its publishes. */
  seenAt: number
  /** Not in the last list, which came in parts. */
  missed: boolean
  /** The ids of its pipelines. */
  ids: readonly string[]
  readonly gone: AbortController
  /** Ends a wait: the pipeline was removed, or the path was published again. */
  wake: (reason: 'removed' | 'published') => void
}

/**
 * Polls the path list of a media server, and publishes and unpublishes its streams as its hooks do through the trigger endpoints; both
 * can be used together. While the list cannot be read nothing changes: the server may still send its streams, and pipelines whose
 * source has gone are removed after `triggers.give_up_after_seconds`.
 */
export const watchMediaServer = (deps: WatchDeps): Watch => {
  const { signal } = deps
  const streams = new Map<string, Stream>()
  const work = new Set<Promise<void>>()

  const begin = (task: Promise<void>): void => {
    const tracked = task.finally(() => work.delete(tracked))
    work.add(tracked)
  }

  const apply = ({ available, inParts, isCut }: PathListing, seenAt: number): void => {
    for (const [path, since] of available) {
      if (!deps.paths.test(path)) continue
      const known = streams.get(path)
      if (known !== undefined) refresh(known, since, seenAt)
      else begin(keepPublished(deps, path, addStream(streams, path, since, seenAt)))
    }
    // A stream that is not in the part that was read may still be there.
    if (isCut) return
    for (const [path, stream] of streams) {
      if (available.has(path)) continue
      if (inParts && !stream.missed) stream.missed = true
      else {
        streams.delete(path)
        stream.gone.abort()
        begin(unpublish(deps, path, stream, seenAt))
      }
    }
  }

  const end = async (): Promise<void> => {
    await poll(deps, apply)
    for (const { gone } of streams.values()) gone.abort()
    await Promise.all(work)
  }

  return {
    onEvent: (event) => {
      if (event.type !== 'pipeline_removed' || signal.aborted) return
      for (const stream of streams.values()) if (stream.ids.includes(event.id)) stream.wake('removed')
    },
    ended: end(),
  }
}

const poll = async (
  { api, log, signal, pace: { pollMs } = PACE }: WatchDeps,
  apply: (listing: PathListing, seenAt: number) => void,
): Promise<void> => {
  const backoff = new Backoff()
  let state: 'new' | 'answers' | 'lost' = 'new'
  let wasCut = false
  while (!signal.aborted) {
    const began = performance.now()
    const listing = await api.list(signal).catch((error: unknown) => messageOf(error))
    if (signal.aborted) return
    if (typeof listing !== 'string') {
      if (state !== 'answers') log.info('media_server_watched', { url: api.address })
      state = 'answers'
      backoff.reset()
      if (listing.isCut && !wasCut) log.warn('media_server_list_cut', { url: api.address, advice: CUT_ADVICE })
      wasCut = listing.isCut
      apply(listing, began)
    } else if (state !== 'lost') {
      log.warn('media_server_not_watched', {
        url: api.address,
        error: listing,
        advice: 'Its pipelines are kept. The watch continues when it answers.',
      })
      state = 'lost'
    }
    await pause(state === 'lost' ? backoff.next({ initial_delay_ms: pollMs, max_delay_seconds: (2 * pollMs) / 1000 }) : pollMs, signal)
  }
}

const addStream = (streams: Map<string, Stream>, path: string, since: string | null, seenAt: number): Stream => {
  const stream: Stream = { since, seenAt, missed: false, ids: [], gone: new AbortController(), wake: () => {} }
  streams.set(path, stream)
  return stream
}

const refresh = (stream: Stream, since: string | null, seenAt: number): void => {
  const isNew = since !== stream.since
  stream.since = since
  stream.seenAt = seenAt
  stream.missed = false
  if (isNew) stream.wake('published')
}

/** Publishes a stream until it is gone: again after a failure, and when its pipeline was removed or the path published again. */
const keepPublished = async ({ triggers, log, pace: { retryMs } = PACE }: WatchDeps, path: string, stream: Stream): Promise<void> => {
  const backoff = new Backoff()
  const limits = { initial_delay_ms: retryMs, max_delay_seconds: (LONGEST_RETRY * retryMs) / 1000 }
  const { signal: gone } = stream.gone
  let lastFailure = ''
  while (!gone.aborted) {
    const failure = await publish(triggers, path, stream).catch((error: unknown) => error)
    if (gone.aborted) return
    if (failure === undefined) {
      backoff.reset()
      lastFailure = ''
    } else if (messageOf(failure) !== lastFailure) {
      lastFailure = messageOf(failure)
      log.warn('stream_not_published', { path, error: lastFailure })
    }
    // A path that is not valid stays so.
    const isFinal = failure === undefined || hasCode(failure, 'VALIDATION_ERROR')
    const reason = await woken(stream, isFinal ? undefined : backoff.next(limits))
    if (reason === 'removed') await pause(backoff.next(limits), gone)
  }
}

/** Publishes under the ids that hooks have given, if any. */
const publish = async (triggers: Triggers, path: string, stream: Stream): Promise<void> => {
  const known = await triggers.idsOf(path)
  const queries = known.length === 0 ? [{ path }] : known.map((pipelineId) => ({ path, pipelineId }))
  for (const query of queries) {
    if (stream.gone.signal.aborted) return
    const { pipelineId } = await triggers.publish(query, stream.seenAt)
    stream.ids = [...new Set([...stream.ids, pipelineId])]
  }
}

const unpublish = async ({ triggers, log }: WatchDeps, path: string, { ids }: Stream, seenAt: number): Promise<void> => {
  try {
    for (const pipelineId of new Set([...ids, ...(await triggers.idsOf(path))])) await triggers.unpublish({ path, pipelineId }, seenAt)
  } catch (error) {
    log.warn('stream_not_unpublished', { path, error: messageOf(error) })
  }
}

/** Waits until the stream is woken or gone, or `ms` milliseconds have passed; with `ms`, a removal does not wake. */
const woken = async (stream: Stream, ms: number | undefined): Promise<'removed' | 'published' | undefined> => {
  const { signal } = stream.gone
  const ending = new AbortController()
  const end = (): void => ending.abort()
  let found: 'removed' | 'published' | undefined
  stream.wake = (reason) => {
    if (reason === 'removed' && ms !== undefined) return
    found = reason
    end()
  }
  signal.addEventListener('abort', end)
  if (ms !== undefined) await pause(ms, ending.signal)
  else if (!signal.aborted) await new Promise<void>((resolve) => ending.signal.addEventListener('abort', () => resolve(), { once: true }))
  signal.removeEventListener('abort', end)
  stream.wake = () => {}
  return found
}
