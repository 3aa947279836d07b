import type { EngineChange } from '../../lib/engine/messages.ts'
import { ApiError } from '../../lib/errors.ts'
import type { Log } from '../../lib/ports.ts'
import type { Geolocation, ScreenshotsView } from '../../lib/schema/pipeline.ts'
import type { ScreenshotSchedule } from '../../lib/schema/screenshot.ts'
import type { RtpStream } from '../rtp/stream.ts'
import { CameraTrack } from './camera-track.ts'
import { type DecoderHost, type Screenshot, ScreenshotDecoder } from './decode/screenshot-decoder.ts'
import type { FileStore } from './files/file-store.ts'
import { PeriodicScreenshots } from './periodic-screenshots.ts'
import { screenshotFault } from './screenshot-fault.ts'
import { type Snapshot, Snapshots } from './snapshots.ts'

/** Shared by the screenshots of all pipelines. */
export interface ScreenshotDeps extends DecoderHost {
  readonly store: Pick<FileStore, 'put' | 'trim'>
}

interface ScreenshotHost extends ScreenshotDeps {
  readonly id: string
  readonly stream: RtpStream
  /** Whether the pipeline plays, and whether it has an RTP output (pay0) to decode. */
  readonly status: () => { readonly playing: boolean; readonly publishes: boolean }
  readonly onChange: () => void
  readonly emit: (change: EngineChange) => void
  /** Wall clock, milliseconds since the epoch. */
  readonly now: () => number
  readonly log: Log
}

/** A fault that lasts is reported again after this time. */
const REPEAT_FAULT_MS = 60_000

/** The screenshots of one pipeline: snapshots, and periodic ones that are stored as files. */
export class PipelineScreenshots {
  readonly #host: ScreenshotHost
  readonly #snapshots: Snapshots
  readonly #decoder: ScreenshotDecoder
  readonly #periodic: PeriodicScreenshots
  readonly #camera = new CameraTrack()
  #fault: { readonly reason: string; readonly reportedMs: number } | undefined

  constructor(host: ScreenshotHost) {
    this.#host = host
    this.#decoder = new ScreenshotDecoder(host.stream, host)
    this.#snapshots = new Snapshots(this.#decoder)
    this.#periodic = new PeriodicScreenshots({
      stream: host.stream,
      decoder: this.#decoder,
      store: (screenshot) => this.#store(screenshot),
      onFault: (error) => this.#onFault(error),
    })
  }

  view(defaults: ScreenshotSchedule): ScreenshotsView {
    const { schedule } = this.#periodic
    const { interval_seconds, quality } = schedule ?? defaults
    return { state: schedule !== undefined && this.#host.status().playing ? 'playing' : 'stopped', interval_seconds, quality }
  }

  /** Starts periodic screenshots. CONFLICT with `details.reason` unless the pipeline plays; `resume` allows it to play later. */
  start(schedule: ScreenshotSchedule, options: { readonly resume: boolean }): void {
    if (!options.resume) this.#requireVideo()
    this.#fault = undefined
    this.#periodic.start(schedule)
    this.#host.onChange()
  }

  stop(): void {
    if (this.#periodic.schedule === undefined) return
    this.#periodic.stop()
    this.#host.onChange()
  }

  /** Sets the geolocation of the following screenshots, until the next call of `locateAt`. */
  locate(geolocation: Geolocation | null): void {
    this.#camera.set(geolocation)
  }

  /** Adds where the camera was at a time of the video, monotonic milliseconds. */
  locateAt(geolocation: Geolocation, mediaMs: number): void {
    this.#camera.add(geolocation, mediaMs)
  }

  /** A snapshot and the arrival of its frame (milliseconds since the epoch). CONFLICT with `details.reason` when there is no video. */
  async snapshot(format: { readonly quality: number; readonly width: number | null }): Promise<Snapshot & { readonly takenAt: number }> {
    this.#requireVideo()
    const snapshot = await this.#snapshots.take(format)
    return { ...snapshot, takenAt: this.#wallClock(snapshot.frameMs) }
  }

  /** A play begins, perhaps with another source: no snapshot of the one before is the current picture. */
  begin(): void {
    this.#snapshots.clear()
  }

  /** A play ended: no process stays for its next picture. */
  end(): void {
    this.#decoder.release()
  }

  /** The pipeline is removed. */
  close(): void {
    this.#periodic.stop()
    this.#snapshots.clear()
  }

  #requireVideo(): void {
    const { playing, publishes } = this.#host.status()
    const { id, stream } = this.#host
    if (!publishes) {
      const message = `The description of the pipeline "${id}" has no element named pay0. Name its payloader pay0 to get screenshots.`
      throw new ApiError('CONFLICT', message, { reason: 'no_pay0' })
    }
    if (!playing) throw new ApiError('CONFLICT', `The pipeline "${id}" is not playing. Start it first.`, { reason: 'not_playing' })
    const { media, encodingName } = stream.caps ?? {}
    if (media !== undefined && media !== 'video')
      throw new ApiError('CONFLICT', `The pipeline "${id}" sends ${encodingName}, which has no pictures. Give pay0 to its video.`, {
        reason: 'codec',
      })
  }

  async #store({ jpeg, width, height, frameMs, mediaMs }: Screenshot): Promise<void> {
    const { id, store, log } = this.#host
    await store.put({ pipelineId: id, createdAt: this.#wallClock(frameMs), jpeg, width, height, geolocation: this.#camera.at(mediaMs) })
    if (this.#fault !== undefined) log.info('screenshots_resumed', { pipeline_id: id })
    this.#fault = undefined
  }

  #wallClock(monotonicMs: number): number {
    return Math.round(this.#host.now() - (performance.now() - monotonicMs))
  }

  /** Reports a fault once, and again each minute while it lasts: a full disk must not cause an event per screenshot. */
  #onFault(error: unknown): void {
    const fault = screenshotFault(error)
    if (fault === undefined) return
    const { id, log, emit } = this.#host
    const nowMs = performance.now()
    if (this.#fault?.reason === fault.reason && nowMs - this.#fault.reportedMs < REPEAT_FAULT_MS) return
    this.#fault = { reason: fault.reason, reportedMs: nowMs }
    log.warn('screenshot_failed', { pipeline_id: id, reason: fault.reason, error })
    emit({ type: 'pipeline_error', id, ...fault })
  }
}
