import type { PortRange } from '../../lib/configuration.ts'
import type { EngineCheck, EngineEvent, LogLine } from '../../lib/engine/messages.ts'
import { ApiError } from '../../lib/errors.ts'
import { requireLicense } from '../../lib/license/license.ts'
import type { Log } from '../../lib/ports.ts'
import type { LicenseState } from '../../lib/schema/license.ts'
import { type PipelineConfig, type PipelineView, parseOutputUri } from '../../lib/schema/pipeline.ts'
import { DEFAULT_SETTINGS, type Settings } from '../../lib/schema/settings.ts'
import { validationError } from '../../lib/validate.ts'
import type { KlvCounts, KlvTap } from '../klv/tap.ts'
import { findFreePort, isOwnAddress } from '../outputs/ports.ts'
import type { PipelineScreenshots } from '../screenshots/pipeline-screenshots.ts'
import { type ActorDeps, PipelineActor } from './actor.ts'
import type { PipelineFacts } from './media-stats.ts'

export interface SupervisorOptions extends Pick<ActorDeps, 'publisher' | 'plan' | 'onReturn' | 'now' | 'log' | 'screenshots'> {
  readonly ports: PortRange
  readonly check: (config: PipelineConfig, settings: Settings) => Promise<EngineCheck>
}

/** The registered pipelines and their actors; the one place that knows which output ports are taken. */
export class Supervisor {
  readonly #options: SupervisorOptions
  readonly #log: Log
  readonly #actors = new Map<string, PipelineActor>()
  readonly #listeners = new Set<(event: EngineEvent) => void>()
  #settings: Settings = DEFAULT_SETTINGS
  #license: LicenseState = { status: 'unlimited' }
  #configured = false
  #allocations: Promise<unknown> = Promise.resolve()

  constructor(options: SupervisorOptions) {
    this.#options = options
    this.#log = options.log
  }

  /** Whether settings and pipelines have been handed over since the engine started. */
  get configured(): boolean {
    return this.#configured
  }

  get playing(): number {
    return this.list().filter(({ state }) => state === 'playing').length
  }

  get #running(): number {
    return [...this.#actors.values()].filter(({ running }) => running).length
  }

  get settings(): Settings {
    return this.#settings
  }

  configure(settings: Settings): void {
    this.#settings = settings
    this.#configured = true
    for (const actor of this.#actors.values()) void actor.settingsChanged()
    void this.#options.screenshots.store.trim()
  }

  /** What starts by readers are held to; the API process holds every other start to it. */
  holdToLicense(license: LicenseState): void {
    this.#license = license
  }

  subscribe(listener: (event: EngineEvent) => void): () => void {
    this.#listeners.add(listener)
    return () => {
      this.#listeners.delete(listener)
    }
  }

  /** Parses a configuration without running it. VALIDATION_ERROR tells what to mend. */
  async check(config: PipelineConfig): Promise<EngineCheck> {
    this.#checkOutputHost(config)
    const checked = await this.#options.check(config, this.#settings)
    if (!checked.publishes && config.output !== null) {
      throw validationError('pipeline', [{ path: 'output.uri', message: 'Name an element pay0 in raw_pipeline, or leave output out' }])
    }
    return checked
  }

  /** Registers a pipeline or replaces its configuration; answers it with the output port it got. */
  put(config: PipelineConfig, create: boolean): Promise<PipelineConfig> {
    // One at a time: two registrations must not find the same port free.
    const result = this.#allocations.then(() => this.#put(config, create))
    this.#allocations = result.catch(() => {})
    return result
  }

  async #put(config: PipelineConfig, create: boolean): Promise<PipelineConfig> {
    this.#checkOutputHost(config)
    const known = this.#actors.get(config.id)
    if (known !== undefined && create) throw new ApiError('CONFLICT', `A pipeline "${config.id}" exists already.`)
    // Handed over again after the API process was replaced: nothing to do, and no reader is sent away.
    if (known !== undefined && !known.running && JSON.stringify(known.config) === JSON.stringify(config)) return config
    // An output tells that the configuration was checked and publishes; parsing it again costs a process each.
    const publishes = config.output !== null || (await this.check(config)).publishes
    const assigned = publishes && config.output === null ? await this.#withOutput(config) : config
    if (known !== undefined) await known.replace(assigned)
    else this.#actors.set(config.id, this.#newActor(assigned))
    const actor = this.#actors.get(config.id)
    await actor?.listen()
    // Whoever else follows learns that it is there; a replacement told so itself.
    if (known === undefined && actor !== undefined) this.#emit({ type: 'pipeline', view: actor.view() })
    return assigned
  }

  async remove(id: string, force: boolean): Promise<void> {
    const actor = this.#find(id)
    await actor.remove(force)
    this.#actors.delete(id)
    this.#emit({ type: 'pipeline_removed', id })
  }

  play(id: string, wait: boolean): Promise<PipelineView> {
    return this.#find(id).play({ wait })
  }

  /** Ends the periodic screenshots too: who plays it again asks for them again. */
  stop(id: string): Promise<PipelineView> {
    const actor = this.#find(id)
    actor.screenshots.stop()
    return actor.stop()
  }

  screenshots(id: string): PipelineScreenshots {
    return this.#find(id).screenshots
  }

  klv(id: string): KlvTap {
    return this.#find(id).klv
  }

  klvCounts(): readonly KlvCounts[] {
    return [...this.#actors.values()].map(({ klv }) => klv.counts())
  }

  view(id: string): PipelineView {
    return this.#find(id).view()
  }

  config(id: string): PipelineConfig {
    return this.#find(id).config
  }

  list(): readonly PipelineView[] {
    return [...this.#actors.values()].map((actor) => actor.view())
  }

  measure(): readonly PipelineFacts[] {
    return [...this.#actors.values()].map((actor) => actor.measure())
  }

  configs(): readonly PipelineConfig[] {
    return [...this.#actors.values()].map(({ config }) => config)
  }

  log(id: string): readonly LogLine[] {
    return this.#find(id).log()
  }

  /** Stops every pipeline, for good. */
  async close(): Promise<void> {
    const ends = await Promise.allSettled([...this.#actors.values()].map((actor) => actor.remove(true)))
    for (const end of ends) if (end.status === 'rejected') this.#log.error('pipeline_close_failed', { error: end.reason })
    this.#actors.clear()
  }

  #newActor(config: PipelineConfig): PipelineActor {
    const { publisher, plan, onReturn, now, log, screenshots } = this.#options
    return new PipelineActor(config, {
      publisher,
      plan,
      onReturn,
      now,
      log,
      screenshots,
      settings: () => this.#settings,
      admitReaderStart: (config) => requireLicense(this.#license, config, this.#running),
      emit: (event) => this.#emit(event),
    })
  }

  async #withOutput(config: PipelineConfig): Promise<PipelineConfig> {
    const taken = new Set(this.configs().map(({ output }) => (output === null ? undefined : parseOutputUri(output.uri)?.port)))
    const port = await findFreePort(this.#options.ports, (candidate) => taken.has(candidate))
    return { ...config, output: { uri: `rtsp://0.0.0.0:${port}/${config.id}` } }
  }

  #checkOutputHost(config: PipelineConfig): void {
    const host = config.output === null ? undefined : parseOutputUri(config.output.uri)?.host
    if (host === undefined || isOwnAddress(host)) return
    throw validationError('pipeline', [{ path: 'output.uri', message: 'Use 0.0.0.0 or an address of this host' }])
  }

  #find(id: string): PipelineActor {
    const actor = this.#actors.get(id)
    if (actor === undefined) throw new ApiError('NOT_FOUND', `There is no pipeline "${id}".`)
    return actor
  }

  #emit(event: EngineEvent): void {
    if (event.type === 'geolocation') this.#actors.get(event.id)?.screenshots.locate(event.geolocation)
    for (const listener of this.#listeners) listener(event)
  }
}
