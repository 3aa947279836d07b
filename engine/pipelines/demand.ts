import type { Log } from '../../lib/ports.ts'
import type { PipelineConfig } from '../../lib/schema/pipeline.ts'
import type { EngineSettings } from '../../lib/schema/settings.ts'
import type { Fault } from '../faults/fault.ts'
import { Output } from '../outputs/rtsp.ts'
import type { Play } from '../play/play.ts'
import { toFault } from '../play/start-fault.ts'
import type { MediaStreams } from '../rtp/media-streams.ts'
import type { Publisher } from '../rtsp/publisher/publisher.ts'
import type { PipelineStatus } from './status.ts'

/** A port in use is tried again after this time, milliseconds. */
const LISTEN_AGAIN_MS = 5000

/** What the on-demand policy needs of its pipeline. */
interface DemandParts {
  readonly config: () => PipelineConfig
  readonly settings: () => EngineSettings
  readonly status: PipelineStatus
  readonly publisher: Publisher
  readonly streams: MediaStreams
  readonly log: Log
  readonly play: () => Play | undefined
  /** Starts the pipeline for a reader; rejects with ApiError. */
  readonly start: () => Promise<unknown>
  readonly stop: () => void
  /** Calls `listen` after the commands that wait. */
  readonly listenAgain: () => void
  /** The number of readers has changed. */
  readonly onReaders: () => void
}

/**
 * The on-demand policy of a pipeline, and its output: the output listens while the pipeline is ready, the first
 * reader starts the pipeline, and it stops some time after the last reader has left.
 */
export class ReaderDemand {
  readonly output: Output
  readonly #parts: DemandParts
  #readers = 0
  #idleTimer: NodeJS.Timeout | undefined
  #listenTimer: NodeJS.Timeout | undefined
  /** Why the output does not listen. */
  #listenFault: Fault | undefined
  #closed = false

  constructor(parts: DemandParts) {
    this.#parts = parts
    this.output = new Output(parts.publisher, parts.settings, parts.streams, {
      onDescribe: () => this.#onDescribe(),
      onReaders: (count) => this.#onReaders(count),
      startTimeout: () => this.#livePlay()?.startTimeout(),
    })
  }

  /**
   * While nothing plays: opens the output if a reader may start the pipeline, closes it otherwise. A port in use is noted as
   * a fault and not thrown: it is tried again until it is free.
   */
  async listen(): Promise<void> {
    clearTimeout(this.#listenTimer)
    const { config, play, log } = this.#parts
    if (this.#closed || play() !== undefined) return
    try {
      if (this.#startsOnRead()) await this.output.open(config())
      else await this.output.close()
      this.#noteListening()
    } catch (error) {
      this.#noteListenFault(toFault(error, config().id, log))
      this.#listenSoon()
    }
  }

  /** Reports each fault once: the port may stay in use for long. */
  #noteListenFault(fault: Fault): void {
    const { status } = this.#parts
    if (this.#listenFault?.message === fault.message && status.lastFault === this.#listenFault) return
    this.#listenFault = fault
    status.noteFault(fault)
  }

  #noteListening(): void {
    const { status } = this.#parts
    const fault = this.#listenFault
    this.#listenFault = undefined
    if (fault !== undefined && status.lastFault === fault) status.forgetFault()
  }

  #listenSoon(): void {
    clearTimeout(this.#listenTimer)
    this.#listenTimer = setTimeout(this.#parts.listenAgain, LISTEN_AGAIN_MS)
  }

  /** Applies changed settings: whether the output listens while ready, and how long a play goes on without readers. */
  settingsChanged(): Promise<void> {
    this.stopWhenIdle()
    return this.listen()
  }

  /** After a play: disconnects the readers and frees the port, unless a reader may start the pipeline again. */
  async release(): Promise<void> {
    if (!this.#startsOnRead()) return this.output.close()
    this.output.disconnectReaders()
    if (!this.output.listens) this.#listenSoon()
  }

  /** Closes the output for good. */
  async close(): Promise<void> {
    this.#closed = true
    clearTimeout(this.#listenTimer)
    await this.output.close()
  }

  /** Schedules the stop of a play that a reader started, if no reader is left. */
  stopWhenIdle(): void {
    this.cancelStop()
    const { settings, stop } = this.#parts
    const play = this.#livePlay()
    if (play === undefined || this.output.readers > 0 || !play.byReader) return
    this.#idleTimer = setTimeout(() => {
      if (this.#livePlay() === play && play.byReader && this.output.readers === 0) stop()
    }, settings().on_demand.close_after_seconds * 1000)
  }

  cancelStop(): void {
    clearTimeout(this.#idleTimer)
  }

  /** The start that a DESCRIBE waits for; undefined when the pipeline plays, reconnects, or may not be started by a reader. */
  #onDescribe(): Promise<unknown> | undefined {
    const play = this.#livePlay()
    if (play !== undefined) return play.awaited && !play.hadMedia ? play.started() : undefined
    return this.#startsOnRead() ? this.#start() : undefined
  }

  #onReaders(count: number): void {
    const joined = count > this.#readers
    this.#readers = count
    // A reader may get the description, and send PLAY only after the pipeline was stopped: that starts the pipeline as well.
    if (joined && this.#livePlay() === undefined && this.#startsOnRead()) this.#start().catch(() => this.output.disconnectReaders())
    this.stopWhenIdle()
    this.#parts.onReaders()
  }

  #start(): Promise<unknown> {
    const { config, start, log } = this.#parts
    const started = start()
    started.catch((error: unknown) => log.warn('on_demand_start_failed', { pipeline_id: config().id, error }))
    return started
  }

  /** The present play, unless it is being stopped. */
  #livePlay(): Play | undefined {
    const { play, status } = this.#parts
    return status.phase === 'stopping' ? undefined : play()
  }

  #startsOnRead(): boolean {
    const { on_demand, output } = this.#parts.config()
    return on_demand && output !== null && this.#parts.settings().on_demand.start_on_read
  }
}
