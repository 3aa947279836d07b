import type { EngineEvent, LogLine } from '../../lib/engine/messages.ts'
import { ApiError } from '../../lib/errors.ts'
import type { Log } from '../../lib/ports.ts'
import type { PipelineConfig, PipelineState, PipelineView } from '../../lib/schema/pipeline.ts'
import type { Settings } from '../../lib/schema/settings.ts'
import { KlvTap } from '../klv/tap.ts'
import type { Planner } from '../launch/plan.ts'
import { LiveVideo } from '../live/live.ts'
import { Pushes } from '../push/pushes.ts'
import { RtpStream } from '../rtp/stream.ts'
import { Timeline } from '../rtp/timeline.ts'
import type { Publisher } from '../rtsp/publisher/publisher.ts'
import { PipelineScreenshots, type ScreenshotDeps } from '../screenshots/pipeline-screenshots.ts'
import { ReaderDemand } from './demand.ts'
import type { Failure } from './lifecycle.ts'
import { LogRing } from './log-ring.ts'
import { MediaStats, mediaTotals, type PipelineFacts } from './media-stats.ts'
import { Play, type PlayEvent, type PlayHandlers } from './play.ts'
import { createQueue } from './queue.ts'
import { runChild } from './run.ts'
import { runSource } from './run-source.ts'
import { PipelineStatus } from './status.ts'

export interface ActorDeps {
  readonly publisher: Publisher
  readonly planner: Planner
  readonly screenshots: ScreenshotDeps
  readonly log: Log
  /** Milliseconds since the epoch. */
  readonly now: () => number
  readonly settings: () => Settings
  /** Address of outputs that the service assigns. */
  readonly outputHost: string
  /** Throws ApiError when the license, or this host, allows no start by a reader. */
  readonly admitReaderStart: (config: PipelineConfig) => Promise<void>
  readonly emit: (event: EngineEvent) => void
}

/**
 * One pipeline: its configuration, its commands, its status and the present play. Commands run one after the other;
 * only the wait for a start is outside of that, so that a stop can cancel it.
 */
export class PipelineActor {
  readonly screenshots: PipelineScreenshots
  readonly klv: KlvTap
  readonly #deps: ActorDeps
  readonly #logRing: LogRing
  readonly #streams: readonly [RtpStream, RtpStream]
  readonly #demand: ReaderDemand
  readonly #status: PipelineStatus
  readonly #command = createQueue()
  #pushes: Pushes
  #config: PipelineConfig
  /** Made with the first play or client: it must see every picture, and an idle pipeline has none. */
  #live: LiveVideo | undefined
  #play: Play | undefined
  /** Of the present play, or of the last one. */
  #mediaStats = new MediaStats()
  #removed = false
  /** What each event of a play changes. */
  readonly #onPlayEvent: PlayHandlers = {
    klv: ({ available }) => this.klv.announce(available),
    media: () => {
      this.#status.move('media')
      this.#pushes.begin()
      this.#demand.stopWhenIdle()
    },
    fault: ({ fault }) => this.#status.noteFault(fault, this.#play?.hadMedia ?? false),
    lost: () => this.#status.move('lost'),
    pause: ({ delayMs }) => this.#status.notePause(delayMs),
    failed: ({ failure }) => this.#onFailed(failure),
  }

  constructor(config: PipelineConfig, deps: ActorDeps) {
    const { log, now, emit } = deps
    const onListenerError = (error: unknown): void => log.error('media_listener_failed', { pipeline_id: config.id, error })
    const options = { timeline: new Timeline(), onListenerError }
    const [video, klv] = [new RtpStream(options), new RtpStream(options)]
    const playing = (): boolean => this.#state() === 'playing'
    const shared = { id: config.id, log, now, emit, onChange: () => this.#emitView() }
    this.#deps = deps
    this.#config = config
    this.#streams = [video, klv]
    this.#logRing = new LogRing(now)
    this.#status = new PipelineStatus({ ...shared, logRing: this.#logRing })
    this.#demand = new ReaderDemand({
      ...deps,
      config: () => this.#config,
      status: this.#status,
      streams: this.#streams,
      play: () => this.#play,
      start: () => this.play({ wait: true, byReader: true }),
      stop: () => void this.stop(),
      listenAgain: () => void this.listen(),
      onReaders: () => {
        // While it runs this is a counter as the others.
        if (!this.running) this.#emitView()
      },
    })
    this.screenshots = new PipelineScreenshots({
      ...deps.screenshots,
      ...shared,
      stream: video,
      status: () => ({ playing: playing(), publishes: this.#config.output !== null }),
    })
    this.#pushes = this.#createPushes()
    this.klv = new KlvTap({
      ...shared,
      stream: klv,
      status: () => ({ playing: playing(), extractsGeolocation: this.#config.klv_config.auto_extract_geolocation }),
      onPosition: (geolocation, mediaMs) => this.screenshots.locateAt(geolocation, mediaMs),
    })
  }

  get config(): PipelineConfig {
    return this.#config
  }

  get live(): LiveVideo {
    const [video, klv] = this.#streams
    this.#live ??= new LiveVideo({
      config: () => this.#config,
      video,
      klv,
      hasKlv: () => this.klv.view().available,
      point: () => this.#demand.output.point,
    })
    return this.#live
  }

  get running(): boolean {
    return this.#play !== undefined
  }

  view(): PipelineView {
    return {
      id: this.#config.id,
      state: this.#state(),
      runtime: {
        ...this.#status.read(),
        readers: this.#demand.output.readers,
        ...this.#mediaStats.read(this.running),
        push: this.#pushes.view(),
      },
      klv: this.klv.view(),
      screenshots: this.screenshots.view(this.#deps.settings().screenshots),
    }
  }

  measure(): PipelineFacts {
    return {
      view: this.view(),
      pid: this.#play?.pid,
      media: mediaTotals(this.#streams, this.#demand.output.sent),
      pushes: this.#pushes.facts(),
    }
  }

  log(): readonly LogLine[] {
    return this.#pushes.log(this.#logRing.lines())
  }

  /** Lets the first reader start the pipeline, if it is on demand. */
  listen(): Promise<void> {
    return this.#command(() => this.#showFaultOf(() => this.#demand.listen()))
  }

  settingsChanged(): Promise<void> {
    return this.#command(async () => {
      this.#pushes.settingsChanged()
      await this.#showFaultOf(() => this.#demand.settingsChanged())
    })
  }

  /** The output may not listen, or listen again. */
  async #showFaultOf(listen: () => Promise<void>): Promise<void> {
    const { lastFault } = this.#status
    await listen()
    if (this.#status.lastFault !== lastFault) this.#emitView()
  }

  /** Replaces the configuration; CONFLICT while it runs. */
  replace(config: PipelineConfig): Promise<void> {
    return this.#command(async () => {
      this.#requireRegistered()
      if (this.#play !== undefined) throw runningConflict(this.#config.id)
      await Promise.all([this.#demand.output.close(), this.#pushes.end()])
      this.#config = config
      this.#pushes = this.#createPushes()
      this.#status.forgetFault()
      this.klv.forget()
      this.#toIdle()
      await this.#demand.listen()
      this.#emitView()
    })
  }

  /** Ends the pipeline for good; CONFLICT while it runs unless forced. */
  remove(force: boolean): Promise<void> {
    if (force) this.#play?.stop()
    return this.#command(async () => {
      if (this.#play !== undefined && !force) throw runningConflict(this.#config.id)
      await Promise.all([this.#endPlay(), this.#pushes.end()])
      await this.#demand.close()
      this.screenshots.close()
      this.klv.close()
      this.#removed = true
    })
  }

  /** Starts a play, or joins the present one. `wait`: resolves at the first media, rejects with ApiError when the start fails. */
  async play(options: { readonly wait: boolean; readonly byReader?: boolean }): Promise<PipelineView> {
    const byReader = options.byReader ?? false
    const play = await this.#command(async () => {
      this.#requireRegistered()
      if (byReader && this.#play === undefined) await this.#deps.admitReaderStart(this.#config)
      if (!byReader) this.#status.desired = 'playing'
      const present = this.#play ?? this.#beginPlay({ awaited: options.wait, byReader })
      if (!byReader) present.byReader = false
      return present
    })
    if (options.wait) await play.started()
    return this.view()
  }

  /** Ends the play. Resolves when the child is reaped and, unless a reader may start the pipeline, the port is free. */
  stop(): Promise<PipelineView> {
    this.#play?.stop()
    return this.#command(async () => {
      const { desired, phase } = this.#status
      this.#status.desired = 'ready'
      // No other phase follows, whose event would tell it.
      if (phase === 'idle' && desired !== 'ready') this.#emitView()
      await this.#endPlay()
      this.#toIdle()
      await this.#demand.release()
      return this.view()
    })
  }

  #beginPlay(options: { readonly awaited: boolean; readonly byReader: boolean }): Play {
    const play = new Play(
      {
        ...this.#deps,
        config: this.#config,
        output: this.#demand.output,
        releaseOutput: () => this.#demand.release(),
        streams: this.#streams,
        runChild,
        runSource,
        logRing: this.#logRing,
        previousFault: this.#status.lastFault,
        report: (event) => (this.#onPlayEvent[event.type] as (event: PlayEvent) => void)(event),
      },
      options,
    )
    this.#play = play
    void this.live // Made now at the latest.
    this.#mediaStats = play.mediaStats
    this.#status.begin()
    this.screenshots.begin()
    this.klv.begin()
    this.#status.move('play')
    return play
  }

  /** The play ended without a stop. */
  #onFailed(failure: Failure): void {
    this.klv.end()
    this.screenshots.end()
    void this.#pushes.end()
    // The caller of a start that failed got the error, so the pipeline must not start by itself later.
    if (this.#play?.awaited && !this.#play.hadMedia) this.#status.desired = 'ready'
    this.#play = undefined
    this.#status.move(failure)
  }

  async #endPlay(): Promise<void> {
    this.#demand.cancelStop()
    const play = this.#play
    if (play === undefined) return
    this.#status.move('stop')
    play.stop()
    await Promise.all([play.ended, this.#pushes.end()])
    this.klv.end()
    this.screenshots.end()
    this.#play = undefined
    this.#status.move('ended')
  }

  #createPushes(): Pushes {
    const [video, klv] = this.#streams
    const config = this.#config
    return new Pushes({
      ...this.#deps,
      config,
      video,
      klv: () => (config.klv_config.pass_klv ? klv : undefined),
      hasKlv: () => this.klv.view().available,
      openFeed: (out, options) => this.live.feed(out, options),
      run: () => this.#logRing.run,
      onChange: () => this.#emitView(),
    })
  }

  /** From failed back to idle: a stop command confirms the failure, a new configuration makes it obsolete. */
  #toIdle(): void {
    this.#status.move('stop')
    this.#status.move('ended')
  }

  #state(): PipelineState {
    return this.#status.state(this.#play?.hadMedia ?? false)
  }

  #emitView(): void {
    if (!this.#removed) this.#deps.emit({ type: 'pipeline', view: this.view() })
  }

  #requireRegistered(): void {
    if (this.#removed) throw new ApiError('NOT_FOUND', `There is no pipeline "${this.#config.id}".`)
  }
}

const runningConflict = (id: string): ApiError =>
  new ApiError('CONFLICT', `The pipeline "${id}" is running. Stop it first.`, { reason: 'running' })
