import { parseAdtsHeader } from '../../codec/audio/aac.ts'
import type { RtpCaps } from '../../rtp/caps.ts'
import { aacCaps, aacPayloads } from './aac-rtp.ts'
import { FrameSplitter } from './frame-splitter.ts'
import type { SoundFrame, SoundReader } from './sound-packets.ts'

const HEADER = 7
const SAMPLES = 1024

/** AAC in ADTS, to RFC 3640 (AAC-hbr). */
export class AdtsReader implements SoundReader {
  readonly #frames = new FrameSplitter(HEADER, (bytes, at) => parseAdtsHeader(bytes, at)?.length)
  #config = ''
  #caps: RtpCaps | undefined

  get caps(): RtpCaps | undefined {
    return this.#caps
  }

  push(payload: Uint8Array): readonly SoundFrame[] {
    return this.#frames.push(payload).flatMap(({ bytes, began }) => {
      const header = parseAdtsHeader(bytes, 0)
      // Several blocks in one frame have no lengths of their own.
      if (header === undefined || header.blocks > 1) return []
      if (header.config !== this.#config) this.#caps = aacCaps(header)
      this.#config = header.config
      return [{ payloads: aacPayloads(bytes.subarray(header.headerBytes)), duration: SAMPLES, ...(began && { began }) }]
    })
  }

  reset(): void {
    this.#frames.reset()
  }
}
