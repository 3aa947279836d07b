import type { Camera, CameraCapabilities, CameraEvent, CameraReport } from './schema/camera.ts'
import type { KlvFeatureRecord, KlvPacketRecord } from './schema/klv.ts'
import type { Codec, Geolocation, PipelineConfig, PipelineView } from './schema/pipeline.ts'
import type { ScreenshotFile, ScreenshotSchedule } from './schema/screenshot.ts'
import type { Settings } from './schema/settings.ts'

/** The outside world as lib sees it. Hosts bring the implementations; nothing here imports one. */

export interface Clock {
  /** Wall clock, milliseconds since the epoch. */
  now(): number
}

export type LogLevel = 'debug' | 'info' | 'warn' | 'error'
export type LogFields = Readonly<Record<string, unknown>>

/** One structured line per event; implementations redact credentials. */
export interface Log {
  debug(event: string, fields?: LogFields): void
  info(event: string, fields?: LogFields): void
  warn(event: string, fields?: LogFields): void
  error(event: string, fields?: LogFields): void
}

/** argon2id; a port because it does not run in every fetch runtime. */
export interface PasswordHasher {
  /** PHC string of a password. */
  hash(password: string): Promise<string>
  verify(hash: string, password: string): Promise<boolean>
}

export interface EngineStatus {
  readonly version: string
  /** What the calls mean, `ENGINE_PROTOCOL` of the engine's program. */
  readonly protocol?: number
  /** Version of gst-launch-1.0, null when the program is missing. */
  readonly gstreamer_version: string | null
  readonly pid: number
  /** The engine has been configured and holds the registered pipelines (false right after its start). */
  readonly configured: boolean
  readonly playing: number
}

export interface EngineCheck {
  /** The gst-launch line, credentials masked, ready to paste. */
  readonly launch: string
  /** Whether the pipeline names `pay0` and so has an RTSP output. */
  readonly publishes: boolean
  /** The codecs that it encodes to; without that of a test picture, for which nobody asked. */
  readonly codecs: readonly Codec[]
}

export interface LogLine {
  readonly at: string
  /** Which run of the child wrote it, 1 for the first since the pipeline was registered. */
  readonly run: number
  readonly stream: 'stdout' | 'stderr' | 'engine'
  readonly line: string
}

export type EngineEvent =
  | { readonly type: 'pipeline'; readonly view: PipelineView }
  | { readonly type: 'pipeline_removed'; readonly id: string }
  | {
      readonly type: 'pipeline_error'
      readonly id: string
      readonly code: string
      readonly message: string
      /** For people. */
      readonly cause: string
      /** For programs. */
      readonly reason: string
    }
  | { readonly type: 'geolocation'; readonly id: string; readonly geolocation: Geolocation }
  | { readonly type: 'klv'; readonly id: string; readonly packet: KlvPacketRecord }
  | CameraEvent
  | { readonly type: 'heartbeat' }

/**
 * The media engine: owns the child processes, the RTSP outputs and the truth about what plays.
 * Every method throws ApiError; SERVICE_UNAVAILABLE when the engine cannot be reached.
 */
export interface Engine {
  status(): Promise<EngineStatus>
  /** Hands over the settings and how many seconds a start may take; effective at once where the setting says so. */
  configure(settings: Settings): Promise<void>
  /** Parses a description without running it. VALIDATION_ERROR in GStreamer's words. */
  check(config: PipelineConfig): Promise<EngineCheck>
  /**
   * Registers a pipeline (`create`: CONFLICT when the id is known) or replaces its configuration (CONFLICT while it runs).
   * Assigns a free output port when the configuration asks for none, and answers the configuration with it.
   */
  put(config: PipelineConfig, options: { readonly create: boolean }): Promise<PipelineConfig>
  /** Forgets a pipeline; CONFLICT while it runs unless `force`, NOT_FOUND when unknown. */
  remove(id: string, options: { readonly force: boolean }): Promise<void>
  /** Answers when a key frame came out, or throws the classed fault. `wait: false` answers at once and retries in the background. */
  play(id: string, options: { readonly wait: boolean }): Promise<PipelineView>
  /** Answers when the child has been reaped and the port is free. */
  stop(id: string): Promise<PipelineView>
  view(id: string): Promise<PipelineView>
  list(): Promise<readonly PipelineView[]>
  log(id: string): Promise<readonly LogLine[]>
  /** Every change from now on; ends when the signal aborts or the engine goes away. */
  events(signal: AbortSignal): AsyncIterable<EngineEvent>
}

/** A JPEG on its way: `etag`, `last-modified`, `content-length`, `x-created-at` and, of a snapshot, `x-age-ms` are in the headers. */
export interface JpegAnswer {
  readonly headers: Headers
  readonly body: ReadableStream<Uint8Array> | Uint8Array<ArrayBuffer> | null
}

/** The engine's pictures: snapshots, periodic screenshots and their files. Every method throws ApiError, as of Engine. */
export interface Screenshots {
  /** Periodic screenshots from now on; CONFLICT with `details.reason` unless it plays. `resume`: it may come to play later. */
  start(
    id: string,
    wish: ScreenshotSchedule & { readonly geolocation: Geolocation | null },
    options: { readonly resume: boolean },
  ): Promise<PipelineView>
  stop(id: string): Promise<PipelineView>
  /** Where the camera is, for the screenshots from now on. */
  locate(id: string, geolocation: Geolocation | null): Promise<void>
  /** The picture of now, at most a second old; CONFLICT with `details.reason` when there is none. */
  snapshot(id: string, format: { readonly quality?: number | undefined; readonly width?: number | undefined }): Promise<JpegAnswer>
  /** The newest first; `before` in milliseconds since the epoch. */
  list(query: {
    readonly pipeline_id?: string | undefined
    readonly before?: number | undefined
    readonly limit: number
  }): Promise<readonly ScreenshotFile[]>
  /** NOT_FOUND for a name that is not listed. */
  read(file: string): Promise<JpegAnswer>
  remove(file: string): Promise<void>
  /** Answers how many were deleted. */
  removeOf(pipelineId: string): Promise<number>
}

/** The engine's KLV decoding. Every method throws ApiError, as of Engine. */
export interface Klv {
  /** Decodes from now on; CONFLICT with `details.reason` not_playing or no_klv. */
  start(id: string): Promise<PipelineView>
  stop(id: string): Promise<PipelineView>
  /** The last packet with its age; NOT_FOUND before the first. */
  latest(id: string): Promise<KlvPacketRecord>
  latestFeature(id: string): Promise<KlvFeatureRecord>
  /** Every packet decoded from now on; ends when the signal aborts or the engine goes away. */
  follow(id: string, signal: AbortSignal): AsyncIterable<KlvPacketRecord>
}

/** The cameras of the engine's host. Every method throws ApiError, as of Engine; SERVICE_UNAVAILABLE too when the host cannot tell. */
export interface Cameras {
  list(): Promise<readonly Camera[]>
  /** What the camera at a device path can do; NOT_FOUND. */
  capabilities(devicePath: string): Promise<CameraCapabilities>
  /** What is attached, then each change from now on; ends when the signal aborts or the engine goes away. */
  follow(signal: AbortSignal): AsyncIterable<CameraReport>
}
