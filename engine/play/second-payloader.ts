import type { MediaTarget } from '../ingest/media-pipe.ts'
import type { RtpCaps } from '../rtp/caps.ts'
import type { RtpStream } from '../rtp/stream.ts'

interface Targets {
  readonly data: RtpStream
  /** The sound as it is, or what encodes it. */
  readonly sound: RtpStream
}

/** The media of `pay1` in an advanced pipeline: sound, or KLV and other data; its caps say which. */
export class SecondPayloader implements MediaTarget {
  readonly #targets: Targets
  #target: RtpStream | undefined

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
  }

  /** Throws RtpFramingError after many packets that are not RTP. */
  ingestPacket(packet: Buffer): void {
    this.#target?.ingestPacket(packet)
  }
}
