import type { EngineEvent, LogLine } from '../../lib/engine/messages.ts'
import { ApiError } from '../../lib/errors.ts'
import type { Log } from '../../lib/ports.ts'
import type { PipelineConfig, PipelineState, PipelineView } from '../../lib/schema/pipeline.ts'
import type { Settings } from '../../lib/schema/settings.ts'
import type { Fault } from '../fault.ts'
import { KlvTap } from '../klv/tap.ts'
import type { Planner } from '../launch/plan.ts'
import { Output } from '../outputs/rtsp.ts'
import { RtpStream } from '../rtp/stream.ts'
import { Timeline } from '../rtp/timeline.ts'
import type { Publisher } from '../rtsp/publisher/publisher.ts'
import { PipelineScreenshots, type ScreenshotDeps } from '../screenshots/pipeline-screenshots.ts'
import { attemptRun, toFault } from './attempt.ts'
import { ReaderDemand } from './demand.ts'
import type { LifecycleEvent } from './lifecycle.ts'
import { LogRing } from './log-ring.ts'
import { MediaStats, type PipelineFacts } from './media-stats.ts'
import { Session } from './play.ts'
import { PipelineStatus } from './status.ts'

export interface ActorDeps {
  readonly publisher: Publisher
  readonly settings: () => Settings
  /** Throws ApiError when the license has no place for a start by a reader. */
  readonly admitReaderStart: (config: PipelineConfig) => void
  readonly plan: Planner['plan']
  readonly onReturn: Planner['onReturn']
  readonly emit: (event: EngineEvent) => void
  readonly now: () => number
  readonly log: Log
  readonly screenshots: ScreenshotDeps
}

/**
 * One pipeline: its configuration, its wish, its child and its output. Commands are taken one after
 * the other; only the wait for a start happens outside of that, so that a stop can cancel it.
 */
export class PipelineActor {
  readonly screenshots: PipelineScreenshots
  readonly klv: KlvTap
  readonly #deps: ActorDeps
  readonly #ring: LogRing
  readonly #vitals = new MediaStats()
  readonly #streams: readonly [RtpStream, RtpStream]
  readonly #output: Output
  readonly #demand: ReaderDemand
  readonly #status: PipelineStatus
  #config: PipelineConfig
  #session: Session | undefined
  #runs = 0
  #pid: number | undefined
  #commands: Promise<unknown> = Promise.resolve()
  #removed = false
  #previousFault: Fault | undefined

  constructor(config: PipelineConfig, deps: ActorDeps) {
    this.#deps = deps
    this.#config = config
    this.#status = new PipelineStatus(deps.now)
    this.#ring = new LogRing(deps.now)
    const timeline = new Timeline()
    const video = new RtpStream({ timeline })
    const klv = new RtpStream({ timeline })
    video.onUnit((unit) => this.#vitals.record(unit.bytes))
    this.#streams = [video, klv]
    this.#output = new Output(deps.publisher, deps.settings, this.#streams, {
      onDescribe: () => this.#demand.describe(),
      onReaders: (count) => this.#demand.count(count),
    })
    this.#demand = new ReaderDemand({
      session: () => (this.#status.phase === 'stopping' ? undefined : this.#session),
      listens: () => this.#listensWhileReady(),
      readers: () => this.#output.readers,
      start: () => this.play({ wait: true, byReader: true }),
      stop: () => void this.stop(),
      disconnectReaders: () => this.#output.disconnectReaders(),
      closeAfterMs: () => deps.settings().on_demand.close_after_seconds * 1000,
      onStartFailed: (error) => deps.log.warn('on_demand_start_failed', { pipeline_id: this.#config.id, error }),
    })
    this.screenshots = new PipelineScreenshots({
      ...deps.screenshots,
      id: config.id,
      stream: video,
      status: () => ({ playing: this.#state() === 'playing', publishes: this.#config.output !== null }),
      onChange: () => this.#emitStatus(),
      emit: deps.emit,
      now: deps.now,
      log: deps.log,
    })
    this.klv = new KlvTap({
      id: config.id,
      stream: klv,
      status: () => ({
        playing: this.#state() === 'playing',
        extractsGeolocation: this.#config.klv_config.auto_extract_geolocation,
      }),
      onChange: () => this.#emitStatus(),
      emit: deps.emit,
      now: deps.now,
    })
  }

  get config(): PipelineConfig {
    return this.#config
  }

  get running(): boolean {
    return this.#session !== undefined
  }

  get pid(): number | undefined {
    return this.#pid
  }

  view(): PipelineView {
    const { screenshots } = this.#deps.settings()
    return {
      id: this.#config.id,
      state: this.#state(),
      runtime: {
        ...this.#status.read(),
        readers: this.#output.readers,
        ...this.#vitals.read(),
      },
      klv: this.klv.view(),
      screenshots: this.screenshots.view(screenshots),
    }
  }

  /** What the metrics are made of. */
  measure(): PipelineFacts {
    const [video, klv] = [this.#streams[0].stats, this.#streams[1].stats]
    const media = {
      frames: video.units,
      bytesIn: video.bytes + klv.bytes,
      malformedPackets: video.malformedPackets + klv.malformedPackets,
      ...this.#output.sent,
    }
    return { view: this.view(), pid: this.#pid, media }
  }

  log(): readonly LogLine[] {
    return this.#ring.lines()
  }

  /** Opens the output of an on-demand pipeline, so that the first reader can start it. */
  listen(): Promise<void> {
    return this.#command(() => this.#listenWhileReady())
  }

  /** Takes note of changed settings: whether it listens while it is ready, and for how long it plays without a reader. */
  settingsChanged(): Promise<void> {
    return this.#command(async () => {
      if (this.#session !== undefined) this.#demand.closeWhenIdle()
      else if (this.#listensWhileReady()) await this.#listenWhileReady()
      else await this.#output.close()
    })
  }

  /** Replaces the configuration; CONFLICT while it runs. */
  replace(config: PipelineConfig): Promise<void> {
    return this.#command(async () => {
      if (this.#removed) throw new ApiError('NOT_FOUND', `There is no pipeline "${this.#config.id}".`)
      if (this.#session !== undefined) throw runningConflict(this.#config.id)
      await this.#output.close()
      this.#config = config
      this.#status.forgetError()
      this.klv.forget()
      this.#settle()
      await this.#listenWhileReady()
      this.#emitStatus()
    })
  }

  /** Ends the pipeline for good; CONFLICT while it runs unless forced. */
  remove(force: boolean): Promise<void> {
    if (force) this.#session?.stop()
    return this.#command(async () => {
      if (this.#session !== undefined && !force) throw runningConflict(this.#config.id)
      await this.#endSession()
      await this.#output.close()
      this.screenshots.close()
      this.#removed = true
    })
  }

  /** Answers at the first media, or throws what a user can act on. Two plays at once share one start. */
  async play(options: { readonly wait: boolean; readonly byReader?: boolean }): Promise<PipelineView> {
    const byReader = options.byReader ?? false
    const session = await this.#command(async () => {
      if (this.#removed) throw new ApiError('NOT_FOUND', `There is no pipeline "${this.#config.id}".`)
      if (byReader && this.#session === undefined) this.#deps.admitReaderStart(this.#config)
      if (!byReader) this.#status.desired = 'playing'
      this.#session ??= this.#begin(!options.wait, byReader)
      if (!byReader) this.#session.byReader = false
      return this.#session
    })
    if (options.wait) await session.started()
    return this.view()
  }

  /** Answers when the child is reaped and, unless the pipeline waits for readers on demand, the port is free. */
  stop(): Promise<PipelineView> {
    this.#session?.stop()
    return this.#command(async () => {
      this.#status.desired = 'ready'
      await this.#endSession()
      this.#settle()
      if (this.#listensWhileReady()) this.#output.disconnectReaders()
      else await this.#output.close()
      return this.view()
    })
  }

  #state(): PipelineState {
    return this.#status.state(this.#session?.hadMedia ?? false)
  }

  #command<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#commands.then(work)
    this.#commands = result.catch(() => {})
    return result
  }

  #begin(patient: boolean, byReader: boolean): Session {
    this.#status.begin()
    this.#vitals.reset()
    this.klv.begin()
    this.#move('play')
    return new Session(
      {
        settings: this.#deps.settings,
        patienceMs: () => this.#patienceMs(),
        attempt: (startTimeoutMs, signal, onMedia) => this.#attempt(startTimeoutMs, signal, onMedia),
        lastMediaAt: () => this.#vitals.lastFrameAt ?? performance.now(),
        onEvent: (event) => this.#move(event),
        onFault: (fault) => this.#noteFault(fault),
        onPause: (delayMs) => this.#notePause(delayMs),
        onReturn: (callback) => this.#deps.onReturn(this.#config, callback),
        onFailed: (event) => this.#onFailed(event),
      },
      { patient, byReader },
    )
  }

  async #attempt(startTimeoutMs: number, signal: AbortSignal, onMedia: () => void): Promise<Fault | undefined> {
    const { settings, plan, log } = this.#deps
    const context = {
      config: this.#config,
      number: ++this.#runs,
      settings,
      plan,
      output: this.#output,
      streams: this.#streams,
      klv: this.klv,
      ring: this.#ring,
      log,
      previousFault: this.#previousFault,
      onStarted: (pid: number) => {
        this.#pid = pid
      },
    }
    try {
      return await attemptRun(context, startTimeoutMs, signal, () => {
        onMedia()
        this.#demand.closeWhenIdle()
      })
    } finally {
      this.#pid = undefined
    }
  }

  #patienceMs(): number | null {
    const { reconnect, triggers } = this.#deps.settings()
    const seconds = this.#config.ephemeral ? triggers.give_up_after_seconds : reconnect.give_up_after_seconds
    return seconds === null ? null : seconds * 1000
  }

  /** The session ended without a stop: the port goes, the reason stays. */
  async #onFailed(event: LifecycleEvent): Promise<void> {
    if (this.#listensWhileReady()) this.#output.disconnectReaders()
    else await this.#output.close()
    this.klv.end()
    // Whoever waited for the start was told that it failed: nobody expects it to come by itself later.
    if (this.#session !== undefined && !this.#session.patient && !this.#session.hadMedia) this.#status.desired = 'ready'
    this.#session = undefined
    this.#move(event)
  }

  async #endSession(): Promise<void> {
    this.#demand.forget()
    const session = this.#session
    if (session === undefined) return
    this.#move('stop')
    session.stop()
    await session.ended
    this.klv.end()
    this.#session = undefined
    this.#move('ended')
  }

  /** Back to idle from failed: the reason was seen, or the configuration is another. */
  #settle(): void {
    this.#move('stop')
    this.#move('ended')
  }

  #noteFault(fault: Fault): void {
    const { id } = this.#config
    this.#previousFault = fault
    const { code } = this.#status.noteFault(fault)
    this.#ring.add(this.#runs, 'engine', `${fault.reason}: ${fault.message}`)
    this.#deps.log.warn('pipeline_fault', { pipeline_id: id, run: this.#runs, reason: fault.reason, message: fault.message })
    this.#deps.emit({ type: 'pipeline_error', id, code, message: fault.message, cause: fault.reason })
  }

  #notePause(delayMs: number | null): void {
    this.#status.notePause(delayMs)
    if (delayMs !== null) this.#emitStatus()
  }

  #move(event: LifecycleEvent): void {
    const phase = this.#status.move(event)
    if (phase === undefined) return
    this.#deps.log.info('pipeline_phase', { pipeline_id: this.#config.id, phase, after: event })
    this.#emitStatus()
  }

  #emitStatus(): void {
    if (!this.#removed) this.#deps.emit({ type: 'pipeline', view: this.view() })
  }

  #listensWhileReady(): boolean {
    return this.#config.on_demand && this.#config.output !== null && this.#deps.settings().on_demand.start_on_read
  }

  /** A port that another program holds must not keep a pipeline from being known: the next play tells. */
  async #listenWhileReady(): Promise<void> {
    if (this.#removed || this.#session !== undefined || !this.#listensWhileReady()) return
    try {
      await this.#output.open(this.#config)
    } catch (error) {
      this.#noteFault(toFault(error, this.#config.id, this.#deps.log))
    }
  }
}

const runningConflict = (id: string): ApiError => new ApiError('CONFLICT', `The pipeline "${id}" is running. Stop it first.`)
