import type { EngineChange, LogLine } from '../../lib/engine/messages.ts'
import type { Log } from '../../lib/ports.ts'
import type { PipelineConfig, PipelineState, PipelineView } from '../../lib/schema/pipeline.ts'
import type { EngineSettings } from '../../lib/schema/settings.ts'
import { MediaFormats } from '../formats/media-formats.ts'
import { openTsFeed } from '../formats/ts-feed.ts'
import { KlvTap } from '../klv/tap.ts'
import { LiveAdmission, type LiveParts } from '../live/admission.ts'
import { LiveHls } from '../live/live-hls.ts'
import { LiveVideo } from '../live/live-video.ts'
import type { MountPoint } from '../mount/mount-point.ts'
import { type FoundSound, ServedSound } from '../mount/served-sound.ts'
import { ServedVideo } from '../mount/served-video.ts'
import type { LogRing } from '../play/log-ring.ts'
import { MediaStats } from '../play/media-stats.ts'
import type { PushFacts } from '../push/push.ts'
import { Pushes } from '../push/pushes.ts'
import { Recorder } from '../recordings/recorder.ts'
import type { Recordings } from '../recordings/recordings.ts'
import { createMediaStreams, type MediaStreams } from '../rtp/media-streams.ts'
import type { RtpStream } from '../rtp/stream.ts'
import { PipelineScreenshots, type ScreenshotDeps } from '../screenshots/pipeline-screenshots.ts'
import { PipelineSessions } from '../webrtc/pipeline-sessions.ts'
import type { WebRtc } from '../webrtc/web-rtc.ts'

interface MediaParts {
  readonly config: () => PipelineConfig
  readonly state: () => PipelineState
  /** Where readers join; undefined while the output does not listen. */
  readonly mountPoint: () => MountPoint | undefined
  readonly logRing: LogRing
  readonly screenshots: ScreenshotDeps
  readonly recordings: Recordings
  readonly webRtc: WebRtc
  readonly settings: () => EngineSettings
  /** Address of outputs that name none. */
  readonly outputHost: string
  readonly log: Log
  /** Milliseconds since the epoch. */
  readonly now: () => number
  readonly emit: (change: EngineChange) => void
  /** The view of the pipeline has changed. */
  readonly onChange: () => void
}

/** What the output of a pipeline counts since the pipeline was registered. */
interface SentCounts {
  readonly bytesOut: number
  /** How often a reader that was behind lost its backlog. */
  readonly gopDrops: number
  /** The worst loss that a UDP reader reported last, 0 to 1. */
  readonly worstLoss: number
}

/** What is measured of the media of one pipeline since it was registered. */
interface MediaFacts {
  readonly media: SentCounts & {
    readonly frames: number
    readonly bytesIn: number
    readonly malformedPackets: number
    /** How often packets of the source were missing. */
    readonly gaps: number
  }
  readonly pushes: readonly PushFacts[]
}

/** What the metrics of one pipeline are made of. */
export interface PipelineFacts extends MediaFacts {
  readonly view: PipelineView
  /** The child of the present run. */
  readonly pid: number | undefined
}

/** The RTP streams of a pipeline and their consumers beside the readers of its output: KLV, screenshots, live video, pushes. They outlive a play. */
export class PipelineMedia {
  readonly streams: MediaStreams
  readonly screenshots: PipelineScreenshots
  readonly klv: KlvTap
  readonly recorder: Recorder
  readonly #parts: MediaParts
  /** Made with the first play or client: it must see every access unit, and an idle pipeline has none. */
  #formats: MediaFormats | undefined
  #live: ReturnType<typeof createLive> | undefined
  readonly #video: ServedVideo
  readonly #sound: ServedSound
  #pushes: Pushes
  /** Of the present play, or of the last one. */
  #stats = new MediaStats()

  constructor(parts: MediaParts) {
    const { config, state, log, now, emit, onChange } = parts
    const { id } = config()
    const onListenerError = (error: unknown): void => log.error('media_listener_failed', { pipeline_id: id, error })
    const streams = createMediaStreams({ onListenerError })
    const [video, klv, sound] = streams
    const shared = { id, log, now, emit, onChange }
    this.#parts = parts
    this.streams = streams
    this.#video = new ServedVideo(video)
    this.#sound = new ServedSound(sound, onChange)
    this.screenshots = new PipelineScreenshots({
      ...parts.screenshots,
      ...shared,
      stream: video,
      status: () => ({ playing: state() === 'playing', publishes: config().output !== null }),
    })
    this.klv = new KlvTap({
      ...shared,
      stream: klv,
      status: () => ({ playing: state() === 'playing', extractsGeolocation: config().klv_config.auto_extract_geolocation }),
      onPosition: (geolocation, mediaMs) => this.screenshots.locateAt(geolocation, mediaMs),
    })
    this.recorder = new Recorder({
      ...shared,
      store: parts.recordings,
      media: () => this.#mediaFormats,
      klv,
      status: () => ({ playing: state() === 'playing', publishes: config().output !== null }),
    })
    this.#pushes = this.#createPushes()
  }

  get live(): LiveVideo {
    return this.#liveOutputs.video
  }

  get hls(): LiveHls {
    return this.#liveOutputs.hls
  }

  get sessions(): PipelineSessions {
    return this.#liveOutputs.sessions
  }

  get #liveOutputs() {
    this.#live ??= createLive({ ...this.#parts, media: this.#mediaFormats, point: this.#parts.mountPoint })
    return this.#live
  }

  get #mediaFormats(): MediaFormats {
    this.#formats ??= new MediaFormats({
      video: this.streams[0],
      klv: () => this.#passedKlv,
      klvOfSource: this.streams[1],
      klvCarriage: () => this.klv.view().available && (this.#isKlvTimed ? 'synchronous' : 'asynchronous'),
      sound: this.#sound,
      soundStream: () => (this.#parts.config().audio === 'off' ? undefined : this.streams[2]),
    })
    return this.#formats
  }

  /** KLV of MPEG-TS has the times of its frames. */
  get #isKlvTimed(): boolean {
    return this.klv.isSynchronous || this.#parts.config().klv_config.synchronous
  }

  get #passedKlv(): RtpStream | undefined {
    return this.#parts.config().klv_config.pass_klv ? this.streams[1] : undefined
  }

  /** A play begins, which counts its video in `stats`. */
  begin(stats: MediaStats): void {
    void this.#mediaFormats // Made now at the latest.
    this.#stats = stats
    this.screenshots.begin()
    this.klv.begin()
  }

  /** A run begins; `sound`: what is known of its sound. */
  beginRun(sound: FoundSound): void {
    this.#sound.begin(sound)
  }

  /** Video has come: what sends and stores it begins. */
  beginOutput(): void {
    this.#pushes.begin()
    this.recorder.begin()
  }

  /** Resolves when every child of a push is reaped. */
  endPushes(): Promise<void> {
    return this.#pushes.end()
  }

  /** The play has ended. */
  end(): void {
    void this.recorder.end()
    this.klv.end()
    this.screenshots.end()
  }

  settingsChanged(): void {
    this.#pushes.settingsChanged()
  }

  /** The configuration was replaced, after the pushes of the previous one have ended. */
  replace(): void {
    this.#pushes = this.#createPushes()
    this.klv.forget()
  }

  /** The pipeline is removed. */
  close(): Promise<void> {
    this.screenshots.close()
    this.klv.close()
    return this.recorder.close()
  }

  view(running: boolean) {
    return {
      runtime: {
        ...this.#stats.read(running),
        video: running ? this.#video.view() : null,
        audio: running
          ? this.#sound.view({ toRtmp: this.#parts.config().push.some(({ uri }) => uri.toLowerCase().startsWith('rtmp')) })
          : null,
        push: this.#pushes.view(),
      },
      klv: this.klv.view(),
      recording: this.recorder.view(),
      screenshots: this.screenshots.view(this.#parts.settings().screenshots),
    }
  }

  /** `sent`: what the output counted. */
  facts(sent: SentCounts): MediaFacts {
    const [video, klv] = [this.streams[0].stats, this.streams[1].stats]
    const media = {
      frames: video.units,
      bytesIn: video.bytes + klv.bytes,
      malformedPackets: video.malformedPackets + klv.malformedPackets,
      gaps: video.gaps,
      ...sent,
    }
    return { media, pushes: this.#pushes.facts() }
  }

  /** The lines of the runs, with those of the pushes between them. */
  log(): readonly LogLine[] {
    return this.#pushes.log(this.#parts.logRing.lines())
  }

  #createPushes(): Pushes {
    const { config, logRing, ...parts } = this.#parts
    return new Pushes({
      ...parts,
      config: config(),
      video: this.streams[0],
      klv: () => this.#passedKlv,
      sound: () => (config().audio === 'off' ? undefined : this.streams[2]),
      hasKlv: () => this.klv.view().available,
      openFeed: (out, options) => openTsFeed(this.#mediaFormats, out, options),
      run: () => logRing.run,
    })
  }
}

/** What is sent live over HTTP and by WebRTC; its clients share the places of readers. */
const createLive = (parts: LiveParts & { readonly now: () => number; readonly webRtc: WebRtc }) => {
  const shared = { ...parts, admission: new LiveAdmission(parts) }
  return { video: new LiveVideo(shared), hls: new LiveHls(shared), sessions: new PipelineSessions(shared) }
}
