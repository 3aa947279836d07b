import { randomUUID } from 'node:crypto'
import { Writable } from 'node:stream'
import type { EngineChange } from '../../lib/engine/messages.ts'
import { ApiError } from '../../lib/errors.ts'
import type { Log } from '../../lib/ports.ts'
import type { LastError, RecordingState, RecordingView } from '../../lib/schema/pipeline.ts'
import { CODECS, formatName } from '../codec/codecs.ts'
import type { MediaFormats } from '../formats/media-formats.ts'
import { openTsFeed, type TsFeed } from '../formats/ts-feed.ts'
import type { RtpStream } from '../rtp/stream.ts'
import { GroundSeen } from './ground-seen.ts'
import { type RecordingFault, wrongCodec } from './recording-fault.ts'
import type { Recordings } from './recordings.ts'
import { SegmentCutter } from './segment-cutter.ts'

interface RecorderParts {
  readonly id: string
  readonly media: () => MediaFormats
  readonly klv: RtpStream
  readonly store: Recordings
  /** Whether the pipeline plays, and whether it has an RTP output (pay0). */
  readonly status: () => { readonly playing: boolean; readonly publishes: boolean }
  readonly log: Log
  /** Milliseconds since the epoch. */
  readonly now: () => number
  readonly emit: (change: EngineChange) => void
  /** The view of the pipeline has changed. */
  readonly onChange: () => void
}

/** A fault that lasts is reported again after this time. */
const REPEAT_FAULT_MS = 60_000

/** Records one pipeline while it plays, from its MPEG-TS. It is no reader, and keeps nothing playing. */
export class Recorder {
  readonly #parts: RecorderParts
  readonly #seen = new GroundSeen()
  readonly #cutter: SegmentCutter
  #wanted = false
  #feed: TsFeed | undefined
  #unsubscribe: readonly (() => void)[] = []
  #state: RecordingState = 'stopped'
  #since: number
  #fault: RecordingFault | undefined
  #lastError: LastError | null = null
  #reported: { readonly reason: string; readonly atMs: number } | undefined
  /** When the cached GOP began to arrive, while it is recorded; milliseconds since the epoch. */
  #cachedAt: number | undefined
  /** When recording ended, monotonic milliseconds: a GOP of before is recorded already. */
  #endedMs = Number.NEGATIVE_INFINITY

  constructor(parts: RecorderParts) {
    this.#parts = parts
    this.#since = parts.now()
    this.#cutter = new SegmentCutter({
      ...parts,
      now: () => this.#cachedAt ?? parts.now(),
      run: randomUUID(),
      format: () => formatName(parts.media().elementary.config),
      seen: () => this.#seen.seen,
      takeSeen: () => this.#seen.take(),
      onFault: (fault) => this.#onFault(fault),
      onWritten: () => this.#onWritten(),
    })
  }

  view(): RecordingView {
    const since = this.#state === 'stopped' ? null : new Date(this.#since).toISOString()
    return { state: this.#state, since, last_error: this.#lastError }
  }

  /** Records from the last key frame on, whenever the pipeline plays. CONFLICT with `details.reason` no_pay0 when it has no video. */
  start(): void {
    const { id, status, store } = this.#parts
    if (!status().publishes) throw noPay0(id)
    if (this.#wanted) return
    this.#wanted = true
    this.#lastError = null
    this.#reported = undefined
    this.#move()
    const begin = (): void => {
      if (status().playing) this.begin()
    }
    // The cached GOP is recorded where the directory can be used by now.
    store.open().then(begin, begin)
  }

  /** Resolves when what came before is on the disk. */
  async stop(): Promise<void> {
    this.#wanted = false
    this.#fault = undefined
    this.#move()
    await this.#close()
  }

  /** The pipeline plays: its video has come. Does nothing when that is being recorded. */
  begin(): void {
    if (!this.#wanted || this.#feed !== undefined) return
    const { media: formats, klv, store, now } = this.#parts
    const media = formats()
    const codec = media.video.caps?.encodingName ?? ''
    if (!CODECS.has(codec)) {
      this.#onFault(wrongCodec(codec))
      return
    }
    this.#fault = undefined
    const out = new Writable({
      write: (packets: Buffer, _encoding, done) => {
        // Never waits for the disk, so that this reader is none that is slow.
        this.#cutter.push(packets)
        done()
      },
    })
    const { keyArrivedMs = Number.NEGATIVE_INFINITY } = media.video.gop ?? {}
    const catchesUp = keyArrivedMs > this.#endedMs
    this.#cachedAt = catchesUp ? Math.round(now() - (performance.now() - keyArrivedMs)) : undefined
    this.#feed = openTsFeed(media, out, { catchUp: catchesUp && 'timed', klv: true, sound: true })
    this.#cachedAt = undefined
    this.#unsubscribe = [
      media.video.onLoss(() => this.#onLoss()),
      klv.onUnit((unit) => {
        if (klv.caps?.encodingName === 'SMPTE336M') this.#seen.push(unit.payload(), now())
      }),
      store.onTick(() => this.#cutter.tick()),
    ]
    this.#move()
  }

  /** The play has ended. Resolves when what came before is on the disk. */
  async end(): Promise<void> {
    if (this.#fault?.reason === 'unsupported') this.#fault = undefined
    await this.#close()
    this.#move()
  }

  /** The pipeline is removed. */
  close(): Promise<void> {
    this.#wanted = false
    return this.#close()
  }

  async #close(): Promise<void> {
    for (const unsubscribe of this.#unsubscribe) unsubscribe()
    this.#unsubscribe = []
    if (this.#feed !== undefined) this.#endedMs = performance.now()
    this.#feed?.close()
    this.#feed = undefined
    await this.#cutter.finish()
  }

  #onLoss(): void {
    void this.#cutter.finish()
    this.#move()
  }

  #onWritten(): void {
    if (this.#fault !== undefined) this.#parts.log.info('recording_resumed', { pipeline_id: this.#parts.id })
    this.#fault = undefined
    this.#reported = undefined
    this.#move()
  }

  #move(): void {
    const state = this.#stateNow()
    if (state === this.#state) return
    this.#state = state
    this.#since = this.#parts.now()
    this.#parts.log.info('recording_state', { pipeline_id: this.#parts.id, state })
    this.#parts.onChange()
  }

  #stateNow(): RecordingState {
    if (!this.#wanted) return 'stopped'
    if (this.#fault !== undefined) return 'failed'
    return this.#feed !== undefined && this.#cutter.isOpen ? 'recording' : 'waiting'
  }

  /** Reports a fault once, and again each minute while it lasts. */
  #onFault(fault: RecordingFault): void {
    const { id, log, now, emit, onChange } = this.#parts
    if (!this.#wanted) return
    const nowMs = performance.now()
    const isNew = this.#fault?.reason !== fault.reason
    this.#fault = fault
    if (isNew) this.#lastError = { code: fault.code, message: fault.message, at: new Date(now()).toISOString() }
    const before = this.#state
    this.#move()
    if (isNew && before === 'failed') onChange()
    if (this.#reported?.reason === fault.reason && nowMs - this.#reported.atMs < REPEAT_FAULT_MS) return
    this.#reported = { reason: fault.reason, atMs: nowMs }
    log.warn('recording_failed', { pipeline_id: id, reason: fault.reason })
    emit({ type: 'pipeline_error', id, code: fault.code, message: fault.message, cause: fault.message, reason: fault.reason })
  }
}

const noPay0 = (id: string): ApiError =>
  new ApiError('CONFLICT', `The description of the pipeline "${id}" has no element named pay0. Name its payloader pay0 to record it.`, {
    reason: 'no_pay0',
  })
