import type { EngineChange } from '../../lib/engine/messages.ts'
import { ApiError } from '../../lib/errors.ts'
import type { Log } from '../../lib/ports.ts'
import type { PipelineConfig, PipelineState, PipelineView } from '../../lib/schema/pipeline.ts'
import type { EngineSettings } from '../../lib/schema/settings.ts'
import type { Planner } from '../launch/plan.ts'
import { LogRing } from '../play/log-ring.ts'
import { Play, type PlayEvent, type PlayHandlers } from '../play/play.ts'
import type { Failure } from '../play/retry-policy.ts'
import { runPlan } from '../play/run-plan.ts'
import type { Recordings } from '../recordings/recordings.ts'
import type { Publisher } from '../rtsp/publisher/publisher.ts'
import type { ScreenshotDeps } from '../screenshots/pipeline-screenshots.ts'
import type { WebRtc } from '../webrtc/web-rtc.ts'
import { ReaderDemand } from './demand.ts'
import { type PipelineFacts, PipelineMedia } from './media.ts'
import { createQueue } from './queue.ts'
import { PipelineStatus } from './status.ts'

export interface ActorDeps {
  readonly publisher: Publisher
  readonly planner: Planner
  readonly screenshots: ScreenshotDeps
  readonly recordings: Recordings
  readonly log: Log
  /** Milliseconds since the epoch. */
  readonly now: () => number
  readonly settings: () => EngineSettings
  /** Address of outputs that the service assigns. */
  readonly outputHost: string
  readonly webRtc: WebRtc
  /** Throws ApiError when the license, or this host, allows no start by a reader. */
  readonly admitReaderStart: (config: PipelineConfig) => Promise<void>
  /** Answers the revision of the engine after the change. */
  readonly emit: (change: EngineChange) => number
}

/**
 * One pipeline: its configuration, its commands, its status and the present play. Commands run one after the other;
 * only the wait for a start is outside of that, so that a stop can cancel it.
 */
export class PipelineActor {
  readonly media: PipelineMedia
  readonly #deps: ActorDeps
  readonly #logRing: LogRing
  readonly #demand: ReaderDemand
  readonly #status: PipelineStatus
  readonly #command = createQueue()
  #config: PipelineConfig
  #play: Play | undefined
  #removed = false
  /** That of the engine when the view last changed. */
  #revision = 0
  /** What each event of a play changes. */
  readonly #onPlayEvent: PlayHandlers = {
    klv: ({ available, synchronous }) => this.media.klv.announce(available, synchronous),
    sound: ({ found }) => this.media.beginRun(found),
    media: () => {
      this.#status.noteMedia()
      this.media.beginOutput()
      this.#demand.stopWhenIdle()
    },
    fault: ({ fault }) => this.#status.noteFault(fault, this.#play?.hadMedia ?? false),
    lost: () => this.#status.move('lost'),
    pause: ({ delayMs }) => this.#status.notePause(delayMs),
    failed: ({ failure }) => this.#onFailed(failure),
  }

  constructor(config: PipelineConfig, deps: ActorDeps) {
    this.#deps = deps
    this.#config = config
    this.#logRing = new LogRing(deps.now)
    const shared = { ...deps, config: () => this.#config, logRing: this.#logRing, onChange: () => this.announce() }
    this.media = new PipelineMedia({ ...shared, state: () => this.#state(), mountPoint: () => this.#demand.output.point })
    this.#status = new PipelineStatus({ ...shared, id: config.id })
    this.#demand = new ReaderDemand({
      ...shared,
      status: this.#status,
      streams: this.media.streams,
      play: () => this.#play,
      start: () => this.play({ wait: true, byReader: true }),
      stop: () => void this.stop(),
      listenAgain: () => void this.listen(),
      onReaders: () => {
        // While it runs this is a counter as the others.
        if (!this.running) this.announce()
      },
    })
  }

  get config(): PipelineConfig {
    return this.#config
  }

  get running(): boolean {
    return this.#play !== undefined
  }

  view(): PipelineView {
    const { runtime, ...others } = this.media.view(this.running)
    return {
      id: this.#config.id,
      state: this.#state(),
      runtime: { ...this.#status.read(), readers: this.#demand.output.readers, ...runtime },
      ...others,
      revision: this.#revision,
    }
  }

  /** Emits the view. */
  announce(): void {
    if (!this.#removed) this.#revision = this.#deps.emit({ type: 'pipeline', view: this.view() })
  }

  measure(): PipelineFacts {
    return { view: this.view(), pid: this.#play?.pid, ...this.media.facts(this.#demand.output.sent) }
  }

  /** Lets the first reader start the pipeline, if it is on demand. */
  listen(): Promise<void> {
    return this.#command(() => this.#showFaultOf(() => this.#demand.listen()))
  }

  settingsChanged(): Promise<void> {
    return this.#command(async () => {
      this.media.settingsChanged()
      await this.#showFaultOf(() => this.#demand.settingsChanged())
    })
  }

  /** The output may not listen, or listen again. */
  async #showFaultOf(listen: () => Promise<void>): Promise<void> {
    const { lastFault } = this.#status
    await listen()
    if (this.#status.lastFault !== lastFault) this.announce()
  }

  /** Replaces the configuration; CONFLICT while it runs. */
  replace(config: PipelineConfig): Promise<void> {
    return this.#command(async () => {
      this.#requireRegistered()
      if (this.#play !== undefined) throw runningConflict(this.#config.id)
      await Promise.all([this.#demand.output.close(), this.media.endPushes()])
      this.#config = config
      this.media.replace()
      this.#status.forgetFault()
      this.#toIdle()
      await this.#demand.listen()
      this.announce()
    })
  }

  /** Ends the pipeline for good; CONFLICT while it runs unless forced. */
  remove(force: boolean): Promise<void> {
    if (force) this.#play?.stop()
    return this.#command(async () => {
      if (this.#play !== undefined && !force) throw runningConflict(this.#config.id)
      await Promise.all([this.#endPlay(), this.media.endPushes()])
      await this.#demand.close()
      await this.media.close()
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
      // No change of phase follows, whose event would show it.
      if (phase === 'idle' && desired !== 'ready') this.announce()
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
        streams: this.media.streams,
        runPlan,
        logRing: this.#logRing,
        previousFault: this.#status.lastFault,
        report: (event) => (this.#onPlayEvent[event.type] as (event: PlayEvent) => void)(event),
      },
      options,
    )
    this.#play = play
    this.media.begin(play.mediaStats)
    this.#status.begin()
    this.#status.move('play')
    return play
  }

  /** The play ended without a stop. */
  #onFailed(failure: Failure): void {
    this.media.end()
    void this.media.endPushes()
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
    await Promise.all([play.ended, this.media.endPushes()])
    this.media.end()
    this.#play = undefined
    this.#status.move('ended')
  }

  /** From failed back to idle: a stop command confirms the failure, a new configuration makes it obsolete. */
  #toIdle(): void {
    this.#status.move('stop')
    this.#status.move('ended')
  }

  #state(): PipelineState {
    return this.#status.state(this.#play?.hadMedia ?? false)
  }

  #requireRegistered(): void {
    if (this.#removed) throw new ApiError('NOT_FOUND', `There is no pipeline "${this.#config.id}".`)
  }
}

const runningConflict = (id: string): ApiError =>
  new ApiError('CONFLICT', `The pipeline "${id}" is running. Stop it first.`, { reason: 'running' })
