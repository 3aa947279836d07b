import { isDeepStrictEqual } from 'node:util'
import type { Log } from '../../lib/ports.ts'
import { type CotSettings, parseCotUri } from '../../lib/schema/cot.ts'
import type { Geolocation, PipelineConfig } from '../../lib/schema/pipeline.ts'
import { DEFAULT_SETTINGS } from '../../lib/schema/settings.ts'
import type { KlvPacket } from '../../lib/st0601/packet.ts'
import { cotEvent } from './event.ts'
import { CotReceiver } from './receiver.ts'
import { dialTcp } from './tcp.ts'
import { dialUdp } from './udp.ts'
import type { VideoUrl } from './video-url.ts'

/** The last position of a pipeline. */
export interface Position {
  readonly id: string
  readonly output: PipelineConfig['output']
  readonly packet: KlvPacket
  readonly geolocation: Geolocation
  /** When it was received, monotonic milliseconds: an old one stays old when the clock of the host is set. */
  readonly arrivedMs: number
}

/** Events since the start; dropped: there was a position and no way to the receiver. */
export interface CotCounts {
  readonly sent: number
  readonly dropped: number
  /** undefined: no receiver is configured. */
  readonly connected: boolean | undefined
}

interface CotSenderOptions {
  readonly positions: () => readonly Position[]
  readonly videoUrl: VideoUrl
  readonly now: () => number
  readonly log: Log
}

/** An older position is not sent. */
const FRESH_MS = 5000

/**
 * Sends the present position of every pipeline to a receiver of Cursor on Target events, at the interval of the settings. There is
 * no queue: what cannot be sent now is left out, and the next event is the newest. While there is no position, nothing is connected.
 */
export class CotSender {
  readonly #options: CotSenderOptions
  #settings: CotSettings = DEFAULT_SETTINGS.cot
  #receiver: CotReceiver | undefined
  #timer: NodeJS.Timeout | undefined
  /** When events were last sent to the receiver, monotonic milliseconds. */
  #sentAt = Number.NEGATIVE_INFINITY
  #sent = 0
  #dropped = 0

  constructor(options: CotSenderOptions) {
    this.#options = options
  }

  /** Settings that are the present ones change nothing. */
  configure(settings: CotSettings): void {
    if (isDeepStrictEqual(settings, this.#settings)) return
    const { uri } = this.#settings
    this.#settings = settings
    clearInterval(this.#timer)
    if (settings.uri !== uri) this.#connectTo(settings.uri)
    if (this.#receiver === undefined) return
    this.#timer = setInterval(() => this.#send(), settings.interval_ms)
    if (settings.uri !== uri) this.#send()
  }

  counts(): CotCounts {
    return { sent: this.#sent, dropped: this.#dropped, connected: this.#receiver?.connected }
  }

  close(): void {
    clearInterval(this.#timer)
    this.#receiver?.close()
    this.#receiver = undefined
  }

  #connectTo(uri: string | null): void {
    this.#receiver?.close()
    this.#receiver = undefined
    this.#sentAt = Number.NEGATIVE_INFINITY
    const address = uri === null ? undefined : parseCotUri(uri)
    if (uri === null || address === undefined) return
    this.#receiver = new CotReceiver({
      uri,
      dial: address.protocol === 'tcp' ? dialTcp(address) : dialUdp(address),
      isNeeded: () => this.#fresh().length > 0,
      // What could not be sent meanwhile goes out at once; one that comes and goes gets no more events for it.
      onOpen: () => {
        if (performance.now() - this.#sentAt < this.#settings.interval_ms) return
        clearInterval(this.#timer)
        this.#timer = setInterval(() => this.#send(), this.#settings.interval_ms)
        this.#send()
      },
      log: this.#options.log,
    })
  }

  #fresh(): readonly Position[] {
    const since = performance.now() - FRESH_MS
    return this.#options.positions().filter(({ arrivedMs }) => arrivedMs >= since)
  }

  #send(): void {
    const positions = this.#fresh()
    if (positions.length === 0) return
    const connection = this.#receiver?.connection()
    if (connection === undefined) {
      // The first connection is being made: they are sent when it is open.
      if (this.#receiver?.isLost) this.#dropped += positions.length
      return
    }
    const now = this.#options.now()
    this.#sentAt = performance.now()
    for (const { output, ...position } of positions) {
      const videoUrl = this.#options.videoUrl(output, connection.ownAddress)
      if (connection.write(cotEvent({ ...position, videoUrl }, now))) this.#sent += 1
      else this.#dropped += 1
    }
  }
}
