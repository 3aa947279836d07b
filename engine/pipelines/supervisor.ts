import { isDeepStrictEqual } from 'node:util'
import type { PortRange } from '../../lib/configuration/parsers.ts'
import type { EngineCheck, LogLine, NumberedEvent } from '../../lib/engine/messages.ts'
import type { EngineMoment } from '../../lib/engine/moment.ts'
import { ApiError } from '../../lib/errors.ts'
import { licensedCodecs, requireLicense } from '../../lib/license/license.ts'
import type { LicenseState } from '../../lib/schema/license.ts'
import { isAtRest, type PipelineConfig, type PipelineView } from '../../lib/schema/pipeline.ts'
import { DEFAULT_SETTINGS, type EngineSettings } from '../../lib/schema/settings.ts'
import { parseOutputUri } from '../../lib/uri/output-address.ts'
import { Fault, faultToApiError } from '../faults/fault.ts'
import type { KlvCounts, KlvTap, Located } from '../klv/tap.ts'
import type { LiveHls } from '../live/live-hls.ts'
import type { LiveVideo } from '../live/live-video.ts'
import { requireOtherReceivers, requireOwnAddress } from '../outputs/check-addresses.ts'
import { findFreePort } from '../outputs/ports.ts'
import { readerCredentials } from '../outputs/rtsp.ts'
import { toFault } from '../play/start-fault.ts'
import type { Recorder } from '../recordings/recorder.ts'
import type { PipelineScreenshots } from '../screenshots/pipeline-screenshots.ts'
import type { PipelineSessions } from '../webrtc/pipeline-sessions.ts'
import { type ActorDeps, PipelineActor } from './actor.ts'
import { EngineEvents } from './events.ts'
import type { PipelineFacts } from './media.ts'
import { createQueue } from './queue.ts'

interface SupervisorOptions extends Omit<ActorDeps, 'settings' | 'admitReaderStart' | 'emit'> {
  readonly ports: PortRange
}

/** The last KLV packet of a pipeline with a position. */
interface Position extends Located {
  readonly id: string
  readonly output: PipelineConfig['output']
}

interface PlayOptions {
  readonly wait: boolean
  readonly check?: boolean | undefined
}

interface PutOptions {
  readonly create: boolean
  readonly stored?: boolean | undefined
}

/** The registered pipelines, an actor each; the one place where output ports are assigned. */
export class Supervisor {
  readonly #options: SupervisorOptions
  readonly #events = new EngineEvents()
  readonly #actors = new Map<string, PipelineActor>()
  readonly #registration = createQueue()
  #settings: EngineSettings = DEFAULT_SETTINGS
  #license: LicenseState = { status: 'unlimited' }
  #configured = false

  constructor(options: SupervisorOptions) {
    this.#options = options
  }

  /** Whether the settings have come since the engine started. */
  get configured(): boolean {
    return this.#configured
  }

  get settings(): EngineSettings {
    return this.#settings
  }

  /** The newest event, which an answer of now takes into account. */
  get moment(): EngineMoment {
    return this.#events.moment
  }

  /** How many pipelines play. */
  get playing(): number {
    return this.list().filter(({ state }) => state === 'playing').length
  }

  configure(settings: EngineSettings): void {
    this.#options.publisher.requireCredentials(readerCredentials(settings))
    const changesViews = !isDeepStrictEqual(this.#settings.screenshots, settings.screenshots)
    this.#settings = settings
    this.#configured = true
    // The views show the defaults of the screenshots.
    if (changesViews) this.#events.emit({ type: 'relist' })
    for (const actor of this.#actors.values()) void actor.settingsChanged()
    void this.#options.screenshots.store.trim()
  }

  /** Sets the license that limits starts by readers; the API process checks every other start itself. */
  setLicense(license: LicenseState): void {
    this.#license = license
  }

  subscribe(onEvent: (event: NumberedEvent) => void): () => void {
    return this.#events.subscribe(onEvent)
  }

  /** Checks a configuration without running it; `reuse`: see Planner. VALIDATION_ERROR says what to change. */
  async check(config: PipelineConfig, options?: { readonly reuse?: boolean }): Promise<EngineCheck> {
    requireOwnAddress(config)
    requireOtherReceivers(config)
    return this.#options.planner.check(config, this.#settings, options).catch(throwForClient)
  }

  /**
   * Registers a pipeline or replaces its configuration; resolves to the configuration with the output port assigned. One that
   * is `stored` is not checked again.
   */
  put(config: PipelineConfig, options: PutOptions): Promise<PipelineConfig> {
    // One at a time: two registrations must not find the same port free.
    return this.#registration(() => this.#put(config, options))
  }

  async remove(id: string, force: boolean): Promise<void> {
    const actor = this.#find(id)
    await actor.remove(force)
    // Another removal may have ended first, and the pipeline may have been registered again since.
    if (!this.#isRegistered(actor)) return
    this.#actors.delete(id)
    this.#events.emit({ type: 'pipeline_removed', id })
  }

  /** `check`: what no attempt can mend fails, also without `wait`. */
  async play(id: string, { wait, check = false }: PlayOptions): Promise<PipelineView> {
    const actor = this.#find(id)
    const { planner, log } = this.#options
    planner.permit(actor.config)
    if (check && !wait && !actor.running) {
      await planner.check(actor.config, this.#settings, { reuse: true }).catch((error: unknown) => {
        throw faultToApiError(toFault(error, id, log))
      })
    }
    return actor.play({ wait })
  }

  /** Stops the periodic screenshots as well; the next play does not resume them. */
  stop(id: string): Promise<PipelineView> {
    const actor = this.#find(id)
    actor.media.screenshots.stop()
    return actor.stop()
  }

  screenshots(id: string): PipelineScreenshots {
    return this.#find(id).media.screenshots
  }

  recorder(id: string): Recorder {
    return this.#find(id).media.recorder
  }

  klv(id: string): KlvTap {
    return this.#find(id).media.klv
  }

  /** The last position of a pipeline from its KLV; NOT_FOUND before the first. */
  position(id: string): Position {
    const { media, config } = this.#find(id)
    return { id, output: config.output, ...media.klv.latestLocated() }
  }

  /** The last positions of the pipelines that have one. */
  positions(): readonly Position[] {
    return this.#each(({ media, config: { id, output } }) => {
      const located = media.klv.located()
      return located === undefined ? [] : [{ id, output, ...located }]
    }).flat()
  }

  live(id: string): LiveVideo {
    return this.#find(id).media.live
  }

  hls(id: string): LiveHls {
    return this.#find(id).media.hls
  }

  sessions(id: string): PipelineSessions {
    return this.#find(id).media.sessions
  }

  view(id: string): PipelineView {
    return this.#find(id).view()
  }

  log(id: string): readonly LogLine[] {
    return this.#find(id).media.log()
  }

  list(): readonly PipelineView[] {
    return this.#each((actor) => actor.view())
  }

  listRunning(): readonly PipelineView[] {
    return this.list().filter((view) => !isAtRest(view))
  }

  measure(): readonly PipelineFacts[] {
    return this.#each((actor) => actor.measure())
  }

  klvCounts(): readonly KlvCounts[] {
    return this.#each(({ media }) => media.klv.counts())
  }

  /** Stops and removes every pipeline. */
  async close(): Promise<void> {
    const ends = await Promise.allSettled(this.#each((actor) => actor.remove(true)))
    for (const end of ends) if (end.status === 'rejected') this.#options.log.error('pipeline_close_failed', { error: end.reason })
    this.#actors.clear()
  }

  async #put(config: PipelineConfig, { create, stored = false }: PutOptions): Promise<PipelineConfig> {
    // The network of the host may come up after the service: the start of a stored pipeline says so, and is tried again.
    if (!stored) requireOwnAddress(config)
    const known = this.#actors.get(config.id)
    if (known !== undefined && create) {
      throw new ApiError('CONFLICT', `A pipeline "${config.id}" exists already. Use another id.`, { reason: 'exists' })
    }
    // A new API process registers all pipelines again: an equal configuration changes nothing, and no reader is disconnected.
    if (known !== undefined && !known.running && isDeepStrictEqual(known.config, config)) return config
    const assigned = stored ? config : await this.#assignOutput(config)
    if (!stored) requireOtherReceivers(assigned)
    // It may have been removed since.
    const present = this.#actors.get(config.id)
    if (present === undefined) await this.#register(assigned)
    else {
      if (!stored) await this.#requireFreePort(present.config, assigned)
      await present.replace(assigned)
    }
    return assigned
  }

  /** Assigns an output to a pipeline that publishes and has none. */
  async #assignOutput(config: PipelineConfig): Promise<PipelineConfig> {
    // A configuration with an output was checked before.
    if (config.output !== null || !(await this.check(config, { reuse: true })).publishes) return config
    const taken = new Set(this.#each(({ config: { output } }) => (output === null ? undefined : parseOutputUri(output.uri)?.port)))
    const { ports, outputHost } = this.#options
    const port = await findFreePort(ports, outputHost, (candidate) => taken.has(candidate))
    return { ...config, output: { uri: `rtsp://0.0.0.0:${port}/${config.id}` } }
  }

  /**
   * A create fails on a port that another program uses, as it starts the pipeline; a replace starts nothing and would be noticed at the
   * next start. Pipelines on demand wait for their port, created or replaced.
   */
  async #requireFreePort(before: PipelineConfig, { id, output, on_demand }: PipelineConfig): Promise<void> {
    const address = output === null || on_demand || isDeepStrictEqual(output, before.output) ? undefined : parseOutputUri(output.uri)
    if (address === undefined) return
    const { publisher, log } = this.#options
    const mount = await publisher
      .mount(address, { streams: [], maxReaders: () => 0, describeTimeoutMs: () => 0 })
      .catch((error: unknown) => throwForClient(toFault(error, id, log)))
    await mount.close()
  }

  async #register(config: PipelineConfig): Promise<void> {
    const actor = new PipelineActor(config, {
      ...this.#options,
      settings: () => this.#settings,
      admitReaderStart: (started) => this.#admitReaderStart(started),
      emit: (change) => this.#events.emit(change),
    })
    this.#actors.set(config.id, actor)
    await actor.listen()
    if (this.#isRegistered(actor)) actor.announce()
  }

  #isRegistered(actor: PipelineActor): boolean {
    return this.#actors.get(actor.config.id) === actor
  }

  async #admitReaderStart(config: PipelineConfig): Promise<void> {
    this.#options.planner.permit(config)
    const codecs = await licensedCodecs(this.#license, this, config)
    const running = [...this.#actors.values()].filter((actor) => actor.running)
    requireLicense(this.#license, codecs, running.length)
  }

  #find(id: string): PipelineActor {
    const actor = this.#actors.get(id)
    if (actor === undefined) throw new ApiError('NOT_FOUND', `There is no pipeline "${id}".`)
    return actor
  }

  #each<T>(read: (actor: PipelineActor) => T): readonly T[] {
    return [...this.#actors.values()].map(read)
  }
}

/** A missing encoder, element or GStreamer ends a dry run as it ends a start: with the same code and reason, and what to install. */
const throwForClient = (error: unknown): never => {
  if (!(error instanceof Fault)) throw error
  const { code, details } = faultToApiError(error)
  throw new ApiError(code, error.message, details, { cause: error })
}
