import type { PipelineConfig } from '../../lib/schema/pipeline.ts'
import type { EngineSettings } from '../../lib/schema/settings.ts'
import { parseOutputUri } from '../../lib/uri/output-address.ts'
import { validationError } from '../../lib/validate.ts'
import { Fault } from '../faults/fault.ts'
import type { MountOptions, MountPoint, MountStats } from '../mount/mount-point.ts'
import type { MediaStreams } from '../rtp/media-streams.ts'
import type { ReaderCredentials } from '../rtsp/access/authenticator.ts'
import type { Publication, Publisher } from '../rtsp/publisher/publisher.ts'

type OutputHooks = Required<Pick<MountOptions, 'onDescribe' | 'onReaders' | 'startTimeout'>>

/** The RTSP output of one pipeline: its mount while the pipeline plays, or listens for a reader. */
export class Output {
  readonly #publisher: Publisher
  readonly #settings: () => EngineSettings
  readonly #streams: MediaStreams
  readonly #hooks: OutputHooks
  #mount: Publication | undefined
  /** Totals of the mounts before the present one. */
  #sentBefore = { bytesOut: 0, gopDrops: 0 }

  constructor(publisher: Publisher, settings: () => EngineSettings, streams: MediaStreams, hooks: OutputHooks) {
    this.#publisher = publisher
    this.#settings = settings
    this.#streams = streams
    this.#hooks = hooks
  }

  /** Where readers join; undefined while the output does not listen. */
  get point(): MountPoint | undefined {
    return this.#mount?.point
  }

  get listens(): boolean {
    return this.#mount !== undefined
  }

  get readers(): number {
    return this.#mount?.readers ?? 0
  }

  /** What was sent to readers since the pipeline was registered. */
  get sent(): Pick<MountStats, 'bytesOut' | 'gopDrops' | 'worstLoss'> {
    const { bytesOut = 0, gopDrops = 0, worstLoss = 0 } = this.#mount?.stats ?? {}
    return { bytesOut: this.#sentBefore.bytesOut + bytesOut, gopDrops: this.#sentBefore.gopDrops + gopDrops, worstLoss }
  }

  /** Listens at the output address. Does nothing when it listens already or the pipeline has no output. */
  async open(config: PipelineConfig): Promise<void> {
    if (this.#mount !== undefined || config.output === null) return
    const address = parseOutputUri(config.output.uri)
    if (address === undefined) throw new Fault('bad_description', 'The output address is not valid.')
    const settings = this.#settings
    const [video, klv, sound] = this.#streams
    const passesKlv = config.mode === 'advanced' || config.klv_config.pass_klv
    this.#mount = await this.#publisher.mount(address, {
      streams: [video, passesKlv ? klv : undefined, config.audio === 'off' ? undefined : sound],
      maxReaders: () => settings().readers.max_per_pipeline,
      describeTimeoutMs: () => settings().start_timeout_seconds * 1000,
      ...this.#hooks,
    })
  }

  disconnectReaders(): void {
    this.#mount?.disconnectReaders()
  }

  /** Disconnects the readers; when it resolves the port is free, unless another pipeline shares it. */
  async close(): Promise<void> {
    const mount = this.#mount
    this.#sentBefore = this.sent
    this.#mount = undefined
    await mount?.close()
  }
}

/** The credentials that the settings require of readers; undefined when they need none. */
export const readerCredentials = ({ readers }: EngineSettings): ReaderCredentials | undefined => {
  const { authentication, username, password } = readers
  if (authentication === 'none') return undefined
  // The API refuses such settings. Outputs must not be open because of a damaged record.
  if (password === null) throw validationError('settings record', [{ path: 'readers.password', message: 'Set a password' }])
  return { username, password }
}
