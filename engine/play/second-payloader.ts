import type { RtpCaps } from '../rtp/caps.ts'
import type { RtpStream } from '../rtp/stream.ts'

/** Media whose caps are not known yet. */
const MAX_HELD_BYTES = 4 * 1024 * 1024
/** Caps that do not come in this time are presumed to be those of data, milliseconds. */
const CAPS_WITHIN_MS = 1000

interface Targets {
  readonly data: RtpStream
  /** The sound as it is, or what encodes it. */
  readonly sound: RtpStream
}

/** The media of `pay1` in an advanced pipeline: sound, or KLV and other data; its caps say which. */
export class SecondPayloader {
  readonly #targets: Targets
  #target: RtpStream | undefined
  #held: Buffer[] = []
  #heldBytes = 0
  #timer: NodeJS.Timeout | undefined

  /** `data` is the stream that the run has begun for it. */
  constructor(targets: Targets) {
    this.#targets = targets
  }

  setCaps(caps: RtpCaps): void {
    const { data, sound } = this.#targets
    if (this.#target === undefined && caps.media === 'audio') {
      data.begin()
      sound.begin({ caps: null, sure: true })
      this.#target = sound
    }
    this.#target ??= data
    this.#target.setCaps(caps)
    this.#flush()
  }

  /** Throws RtpFramingError when it cannot be framed RTP. */
  ingest(chunk: Buffer): void {
    if (this.#target !== undefined) {
      this.#target.ingest(chunk)
      return
    }
    if (this.#heldBytes + chunk.length > MAX_HELD_BYTES) return
    this.#held.push(chunk)
    this.#heldBytes += chunk.length
    this.#timer ??= setTimeout(() => this.#presumeData(), CAPS_WITHIN_MS).unref()
  }

  #presumeData(): void {
    this.#target ??= this.#targets.data
    this.#flush()
  }

  #flush(): void {
    clearTimeout(this.#timer)
    const held = this.#held
    this.#held = []
    for (const chunk of held) this.#target?.ingest(chunk)
  }
}
