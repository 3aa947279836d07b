import { isAtRest, type PipelineView } from '../schema/pipeline.ts'
import type { NumberedEvent } from './messages.ts'
import type { EngineMoment } from './moment.ts'
import type { Engine } from './protocol.ts'

/** An engine sends a heartbeat every second. One that is silent for longer than this is asked, milliseconds. */
const SILENCE_MS = 2000

interface Mirrored {
  readonly view: PipelineView
  /** Monotonic milliseconds. */
  readonly heardAt: number
}

/** A view that was made some time ago. Without a run, it is the same object until something changes. */
export interface AgedView {
  readonly view: PipelineView
  /** Time since the view was made, milliseconds: its last frame is older by this. */
  readonly agedMs: number
}

/** The views of all pipelines; those of one turn of the event loop are of one moment. No copy is made: a host may have ten thousand. */
interface Views {
  readonly ids: () => Iterable<string>
  readonly get: (id: string) => AgedView | undefined
}

interface MirrorOptions {
  /** Whether no other process uses the engine: what others are answered is not noted here, so reads of a shared engine ask it. */
  readonly exclusive?: boolean
  readonly monotonicMs?: () => number
}

/**
 * The views of an engine's pipelines, kept by its stream of events in the order of their revisions. Reads are answered from it only
 * while it has read as many events as any answer takes into account: what a client reads is never older than what it was answered.
 * Else, and while the stream is away, reads ask the engine. The counters of a pipeline with a run change all the time, and are not
 * mirrored.
 */
export class EngineMirror {
  readonly #exclusive: boolean
  readonly #monotonicMs: () => number
  #contents = nothing()
  /** The engine of the present stream; undefined while there is none. */
  #engine: string | undefined
  /** The revision up to which the stream was read, and the newest that an answer took into account. */
  #read = 0
  #answered = 0
  #heardAt = 0

  constructor({ exclusive = true, monotonicMs = () => performance.now() }: MirrorOptions = {}) {
    this.#exclusive = exclusive
    this.#monotonicMs = monotonicMs
  }

  /** A stream has begun. */
  begin({ engine, revision }: EngineMoment): void {
    this.end()
    this.#engine = engine
    this.#read = revision
    this.#heardAt = this.#monotonicMs()
  }

  /** The stream is gone, and perhaps the engine. */
  end(): void {
    this.#engine = undefined
    this.#read = 0
    this.#answered = 0
    this.#forget()
  }

  /** An answer of an engine, before it is handed on. */
  noteAnswer({ engine, revision }: EngineMoment): void {
    if (engine === this.#engine) this.#answered = Math.max(this.#answered, revision)
  }

  /** Takes and answers the list of all pipelines, asked for after the stream has begun. Rejects as `list` does. */
  async fill(list: () => Promise<readonly PipelineView[]>): Promise<readonly PipelineView[]> {
    const filling = this.#contents
    filling.asked = true
    try {
      const views = await list()
      // Not those of a stream before, or of before the views have changed.
      if (filling === this.#contents && this.#engine !== undefined) {
        for (const view of views) if (view.revision >= (filling.removed.get(view.id) ?? 0)) this.#put(view)
        filling.removed.clear()
        filling.complete = true
      }
      return views
    } finally {
      filling.asked = false
    }
  }

  /** An event of the stream, in order. Answers whether `fill` is needed. */
  push(event: NumberedEvent): boolean {
    if (this.#engine === undefined) return false
    this.#heardAt = this.#monotonicMs()
    if (event.type === 'relist') this.#forget()
    if (event.type === 'pipeline') this.#put(event.view)
    if (event.type === 'pipeline_removed') this.#remove(event.id, event.revision)
    if (event.type !== 'heartbeat') this.#read = Math.max(this.#read, 'view' in event ? event.view.revision : event.revision)
    return (event.type === 'heartbeat' || event.type === 'relist') && !this.#contents.complete && !this.#contents.asked
  }

  /** Whether reads may be answered from the mirror now. */
  get current(): boolean {
    return (
      this.#exclusive &&
      this.#engine !== undefined &&
      this.#contents.complete &&
      this.#read >= this.#answered &&
      this.#monotonicMs() - this.#heardAt < SILENCE_MS
    )
  }

  /** Whether a pipeline has a run. */
  get hasRunning(): boolean {
    return this.#contents.running > 0
  }

  /** The view of a pipeline as of the events read so far; undefined when there is none. */
  view(id: string): PipelineView | undefined {
    return this.#contents.views.get(id)?.view
  }

  /** The pipeline as it is now; undefined: ask the engine, because it runs, is not known, or the mirror is not current. */
  resting(id: string): AgedView | undefined {
    if (!this.current) return undefined
    const mirrored = this.#contents.views.get(id)
    return mirrored === undefined || !isAtRest(mirrored.view) ? undefined : agedAt(mirrored, this.#monotonicMs())
  }

  /**
   * All pipelines of one moment. `running`: what `listRunning` answered just now; its counters are fresher than the event's.
   * Undefined: list the engine.
   */
  all(running: readonly PipelineView[] = []): Views | undefined {
    if (!this.current) return undefined
    const { views } = this.#contents
    const fresh = new Map(running.map((view) => [view.id, view]))
    const now = this.#monotonicMs()
    const get = (id: string): AgedView | undefined => {
      const mirrored = views.get(id)
      if (mirrored === undefined) return undefined
      const view = isAtRest(mirrored.view) ? undefined : fresh.get(id)
      const isNewer = view !== undefined && view.revision >= mirrored.view.revision
      return isNewer ? { view, agedMs: 0 } : agedAt(mirrored, now)
    }
    return { ids: () => views.keys(), get }
  }

  /** A list and the events around it overlap: only a later revision is new. */
  #put(view: PipelineView): void {
    const known = this.#contents.views.get(view.id)?.view
    if (known !== undefined && known.revision >= view.revision) return
    this.#contents.running += Number(!isAtRest(view)) - Number(known !== undefined && !isAtRest(known))
    this.#contents.views.set(view.id, { view, heardAt: this.#monotonicMs() })
  }

  /** Unless it was registered again since. */
  #remove(id: string, revision: number): void {
    if (!this.#contents.complete) this.#contents.removed.set(id, revision)
    const known = this.#contents.views.get(id)?.view
    if (known === undefined || known.revision > revision) return
    if (!isAtRest(known)) this.#contents.running -= 1
    this.#contents.views.delete(id)
  }

  #forget(): void {
    this.#contents = nothing()
  }
}

const agedAt = ({ view, heardAt }: Mirrored, now: number): AgedView => ({ view, agedMs: Math.max(0, Math.round(now - heardAt)) })

const nothing = () => ({
  views: new Map<string, Mirrored>(),
  /** How many have a run. */
  running: 0,
  /** The revisions of what was removed before the list was there: a list that is on its way may still have it. */
  removed: new Map<string, number>(),
  /** Whether a list is in it, and whether one is on its way. */
  complete: false,
  asked: false,
})

/** The views of the engine's pipelines as they are now: from the mirror where it may be shown, else from the engine. */
export interface ViewReader {
  readonly one: (id: string) => Promise<AgedView>
  readonly all: () => Promise<Views>
}

type Reads = Pick<Engine, 'view' | 'list' | 'listRunning'>

/** `one` throws NOT_FOUND. */
export const readViews = (engine: Reads, mirror: EngineMirror): ViewReader => ({
  one: async (id) => mirror.resting(id) ?? { view: await engine.view(id), agedMs: 0 },
  all: async () => {
    if (mirror.current) {
      const all = mirror.all(mirror.hasRunning ? await engine.listRunning() : [])
      if (all !== undefined) return all
    }
    const listed = new Map((await engine.list()).map((view) => [view.id, { view, agedMs: 0 }]))
    return { ids: () => listed.keys(), get: (id) => listed.get(id) }
  },
})

/** The view with the age that its last frame has now. */
export const aged = ({ view, agedMs }: AgedView): PipelineView => {
  const { last_frame_age_ms } = view.runtime
  if (agedMs === 0 || last_frame_age_ms === null) return view
  return { ...view, runtime: { ...view.runtime, last_frame_age_ms: last_frame_age_ms + agedMs } }
}
