import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import type { Log } from '../../lib/ports.ts'
import type { PlayedSegment, Segment } from '../../lib/segments/segment.ts'
import type { IndexMethods } from './index-worker.ts'

interface Waiting {
  readonly resolve: (answer: never) => void
  readonly reject: (error: Error) => void
}

interface Reply {
  readonly id: number
  readonly answer?: unknown
  readonly error?: string
}

const INDEX_FILE = 'index.db'
/** The sources run as they are in tests. */
const WORKER = import.meta.url.endsWith('.ts') ? './index-worker.ts' : './recordings-index.js'
const BATCH_MS = 500
/** Memory of the thread's heap, MB. */
const MAX_HEAP = { maxOldGenerationSizeMb: 256, maxYoungGenerationSizeMb: 8 }

type Method = keyof IndexMethods

/** The index of the recordings, in a thread of its own. A thread that has died is started again with the next call. */
export class SegmentIndex {
  readonly #path: string
  readonly #log: Log
  readonly #waiting = new Map<number, Waiting>()
  #worker: Worker | undefined
  #next = 0
  #batch: Segment[] = []
  #timer: NodeJS.Timeout | undefined
  #isIncomplete = false

  constructor(folder: string, log: Log) {
    this.#path = join(folder, INDEX_FILE)
    this.#log = log
  }

  /** Adds a segment soon. What cannot be added is found in the files later. */
  add(segment: Segment): void {
    this.#batch.push(segment)
    this.#timer ??= setTimeout(() => void this.flush(), BATCH_MS)
  }

  /** Adds what waits. Never rejects. */
  async flush(): Promise<void> {
    clearTimeout(this.#timer)
    this.#timer = undefined
    const batch = this.#batch
    this.#batch = []
    if (batch.length === 0) return
    await this.ask('add', batch).catch((error: unknown) => {
      this.#isIncomplete = true
      this.#log.warn('segments_not_indexed', { segments: batch.length, error })
    })
  }

  /** Whether segments could not be added since the last call. */
  takeIncomplete(): boolean {
    const isIncomplete = this.#isIncomplete
    this.#isIncomplete = false
    return isIncomplete
  }

  async open(): Promise<void> {
    await this.ask('open', this.#path)
  }

  /** Calls a method of the thread. Rejects with what it fails with. */
  ask<M extends Method>(method: M, ...args: Parameters<IndexMethods[M]>): Promise<Awaited<ReturnType<IndexMethods[M]>>> {
    const worker = this.#worker ?? this.#start(method !== 'open')
    const id = this.#next++
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject })
      worker.postMessage({ id, method, args })
    })
  }

  /** The segments of a pipeline that have something of a range, the oldest first. Rejects with what the thread fails with. */
  async segments(pipelineId: string, from: number, to: number): Promise<readonly PlayedSegment[]> {
    // As JSON: to clone that many objects would take the loop of the media several times as long.
    return JSON.parse(await this.ask('segments', pipelineId, from, to)) as readonly PlayedSegment[]
  }

  /** Ends the thread after its last answer: the driver aborts the whole process when it is interrupted. */
  async close(): Promise<void> {
    await this.flush()
    const worker = this.#worker
    if (worker === undefined) return
    const { promise: exited, resolve } = Promise.withResolvers<void>()
    worker.once('exit', () => resolve())
    // One that has died meanwhile has exited too.
    this.ask('close').catch(() => {})
    await exited
  }

  #start(open: boolean): Worker {
    const worker = new Worker(new URL(WORKER, import.meta.url), { resourceLimits: MAX_HEAP })
    worker.on('message', ({ id, answer, error }: Reply) => {
      const waiting = this.#waiting.get(id)
      this.#waiting.delete(id)
      if (error === undefined) waiting?.resolve(answer as never)
      else waiting?.reject(new Error(error))
    })
    worker.on('error', (error) => this.#log.error('recordings_index_crashed', { error }))
    worker.on('exit', () => {
      if (this.#worker !== worker) return
      this.#worker = undefined
      for (const { reject } of this.#waiting.values()) reject(new Error('the index of the recordings has ended'))
      this.#waiting.clear()
    })
    // The process ends without it.
    worker.unref()
    this.#worker = worker
    if (open) this.open().catch((error: unknown) => this.#log.error('recordings_index_not_open', { error }))
    return worker
  }
}
