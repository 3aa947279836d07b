import { GdpReader } from '../gst/gdp.ts'
import { parseRtpCaps } from '../rtp/caps.ts'
import { RtpFramingError } from '../rtp/packet/rtp-framing-error.ts'
import type { RtpStream } from '../rtp/stream.ts'

/** RTP packets have 16-bit lengths in every transport that readers use (RFC 4571 section 2). */
const MAX_PACKET_BYTES = 65_535

/** Where the media of a child goes. */
export type MediaTarget = Pick<RtpStream, 'setCaps' | 'ingestPacket'>

/** A media pipe of a child: the caps of a payloader, each time they change, and its packets after them. */
export class MediaPipe {
  readonly #reader: GdpReader

  constructor(target: MediaTarget) {
    this.#reader = new GdpReader(MAX_PACKET_BYTES, {
      onBuffer: ({ payload }) => target.ingestPacket(payload),
      onCaps: (text) => {
        const caps = parseRtpCaps(text)
        // Incomplete at first: rtpmp4vpay announces caps without a clock rate.
        if (caps !== undefined) target.setCaps(caps)
      },
    })
  }

  /** Takes a chunk that was read. Throws RtpFramingError when it is not what a child writes. */
  ingest(chunk: Buffer): void {
    if (!this.#reader.push(chunk)) throw new RtpFramingError()
  }
}
