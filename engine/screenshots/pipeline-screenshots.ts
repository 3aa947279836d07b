import type { EngineEvent } from '../../lib/engine/messages.ts'
import { ApiError } from '../../lib/errors.ts'
import type { Log } from '../../lib/ports.ts'
import type { Geolocation, ScreenshotsView } from '../../lib/schema/pipeline.ts'
import type { ScreenshotSchedule } from '../../lib/schema/screenshot.ts'
import type { RtpStream } from '../rtp/stream.ts'
import { type Picture, PictureMaker } from './decode/picture-maker.ts'
import type { DecodeSlots } from './decode/slots.ts'
import type { FileStore } from './files/store.ts'
import { Periodic } from './periodic.ts'
import { pictureTrouble } from './screenshot-fault.ts'
import { type Snapshot, Snapshots } from './snapshots.ts'

/** What the pictures of all pipelines share. */
export interface ScreenshotDeps {
  readonly store: Pick<FileStore, 'put' | 'trim'>
  readonly slots: DecodeSlots
}

export interface ScreenshotHost extends ScreenshotDeps {
  readonly id: string
  readonly stream: RtpStream
  /** Whether it plays, and whether it has an RTP output that pictures could be made from. */
  readonly status: () => { readonly playing: boolean; readonly publishes: boolean }
  readonly onChange: () => void
  readonly emit: (event: EngineEvent) => void
  /** Wall clock, milliseconds since the epoch. */
  readonly now: () => number
  readonly log: Log
}

/** Trouble that goes on is told again after this time, milliseconds. */
const REPEAT_TROUBLE_MS = 60_000

/** The pictures of one pipeline: snapshots, and the periodic ones that become files. */
export class PipelineScreenshots {
  readonly #host: ScreenshotHost
  readonly #snapshots: Snapshots
  readonly #periodic: Periodic
  #geolocation: Geolocation | null = null
  #trouble: { readonly cause: string; readonly toldMs: number } | undefined

  constructor(host: ScreenshotHost) {
    this.#host = host
    const maker = new PictureMaker(host.stream, host.slots)
    this.#snapshots = new Snapshots(maker)
    this.#periodic = new Periodic({
      stream: host.stream,
      maker,
      store: (picture) => this.#store(picture),
      onFault: (error) => this.#onFault(error),
    })
  }

  view(defaults: ScreenshotSchedule): ScreenshotsView {
    const { wish } = this.#periodic
    const { interval_seconds, quality } = wish ?? defaults
    return { state: wish !== undefined && this.#host.status().playing ? 'playing' : 'stopped', interval_seconds, quality }
  }

  /** Periodic pictures from now on; CONFLICT with `details.reason` unless it plays (`resume`: it may come to play later). */
  start(wish: ScreenshotSchedule, options: { readonly resume: boolean }): void {
    if (!options.resume) this.#requirePictures()
    this.#trouble = undefined
    this.#periodic.start(wish)
    this.#host.onChange()
  }

  stop(): void {
    if (this.#periodic.wish === undefined) return
    this.#periodic.stop()
    this.#host.onChange()
  }

  /** Where the camera is, for the pictures from now on. */
  locate(geolocation: Geolocation | null): void {
    this.#geolocation = geolocation
  }

  /** The picture of now, and when its frame came (milliseconds since the epoch); CONFLICT with `details.reason` when there is none. */
  async snapshot(format: { readonly quality: number; readonly width: number | null }): Promise<Snapshot & { readonly takenAt: number }> {
    this.#requirePictures()
    const snapshot = await this.#snapshots.take(format)
    return { ...snapshot, takenAt: this.#wallClock(snapshot.frameMs) }
  }

  /** The pipeline is no more. */
  close(): void {
    this.#periodic.stop()
    this.#snapshots.forget()
  }

  #requirePictures(): void {
    const { playing, publishes } = this.#host.status()
    const { id } = this.#host
    if (!publishes) {
      throw new ApiError('CONFLICT', `The description of the pipeline "${id}" names no pay0, so there are no pictures of it.`, {
        reason: 'no_pay0',
      })
    }
    if (!playing) throw new ApiError('CONFLICT', `The pipeline "${id}" is not playing. Start it first.`, { reason: 'not_playing' })
  }

  async #store({ jpeg, width, height, frameMs }: Picture): Promise<void> {
    const { id, store, log } = this.#host
    await store.put({ pipelineId: id, createdAt: this.#wallClock(frameMs), jpeg, width, height, geolocation: this.#geolocation })
    if (this.#trouble !== undefined) log.info('screenshots_go_on', { pipeline_id: id })
    this.#trouble = undefined
  }

  #wallClock(monotonicMs: number): number {
    return Math.round(this.#host.now() - (performance.now() - monotonicMs))
  }

  /** Told once, and again each minute that it lasts: a full disk is no reason for an event per second. */
  #onFault(error: unknown): void {
    const trouble = pictureTrouble(error)
    if (trouble === undefined) return
    const { id, log, emit } = this.#host
    const nowMs = performance.now()
    if (this.#trouble?.cause === trouble.cause && nowMs - this.#trouble.toldMs < REPEAT_TROUBLE_MS) return
    this.#trouble = { cause: trouble.cause, toldMs: nowMs }
    log.warn('screenshot_failed', { pipeline_id: id, reason: trouble.cause, error })
    emit({ type: 'pipeline_error', id, ...trouble })
  }
}
