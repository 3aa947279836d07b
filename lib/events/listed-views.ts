import type { PipelineView } from '../schema/pipeline.ts'

/** Events that were on their way when the engine was listed arrive within this time, milliseconds. */
const CATCH_UP_MS = 5000

interface ListedViews {
  /** The view of a pipeline in a list of the engine's pipelines; undefined: the list does not have it. */
  set(id: string, view: PipelineView | undefined): void
  /** Whether this view, of an event, is from before the list. */
  isAheadOf(view: PipelineView): boolean
}

/**
 * The engine is listed while its events wait to be read, so the first of them may be older than the list: `idle` from when a
 * pipeline was registered, after the list has said `starting`.
 */
export const createListedViews = (monotonicMs: () => number = () => performance.now()): ListedViews => {
  const listed = new Map<string, { readonly view: PipelineView; readonly until: number }>()
  return {
    set(id, view) {
      if (view === undefined) listed.delete(id)
      else listed.set(id, { view, until: monotonicMs() + CATCH_UP_MS })
    },
    isAheadOf(view) {
      const entry = listed.get(view.id)
      // The bound is for a clock that was set back: later phases would seem older for as long.
      if (entry !== undefined && monotonicMs() < entry.until && isOlder(view, entry.view)) return true
      listed.delete(view.id)
      return false
    },
  }
}

const isOlder = ({ runtime }: PipelineView, { runtime: newer }: PipelineView): boolean => {
  const [since, newerSince] = [Date.parse(runtime.since), Date.parse(newer.since)]
  if (since !== newerSince) return since < newerSince
  if (runtime.phase === newer.phase) return runtime.restarts < newer.restarts
  // A pipeline may be registered and started within a millisecond; no phase ends as quickly in idle.
  return runtime.phase === 'idle' && newer.phase === 'starting'
}
