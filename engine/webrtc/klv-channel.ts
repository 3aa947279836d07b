import { TimedKlv } from '../formats/timed-klv.ts'
import type { AccessUnit } from '../rtp/access-unit.ts'
import type { Channel } from './peer.ts'

/** The data channel that carries KLV. */
export const KLV_LABEL = 'klv'

/** What may wait for a channel that is not open yet, or is slow: older packets are dropped. */
const MAX_WAITING = 256
const MAX_QUEUED_BYTES = 256 * 1024
const TIME_BYTES = 4

/** KLV on a data channel: a message for each packet, with the RTP time of its frame in this session (big-endian) before it. */
export class KlvChannel {
  readonly #timed = new TimedKlv()
  #channel: Channel | undefined
  #waiting: Buffer[] = []

  /** It is opened, by either side. That of a player, which listens on no other, may come late: over a bad link, after the own one. */
  use(channel: Channel): void {
    this.#channel = channel
  }

  get isUsed(): boolean {
    return this.#channel !== undefined
  }

  /** Takes a KLV packet. Returns its bytes. */
  add(unit: AccessUnit): number {
    const timestamp = this.#timed.ptsOf(unit)
    if (timestamp !== undefined) this.#push(unit, timestamp)
    this.#flush()
    return unit.bytes
  }

  /** Takes the frame that is being sent, with its RTP time: packets may have waited for it. */
  picture({ mediaMs, arrivedMs }: AccessUnit, timestamp: number): void {
    for (const { unit, pts } of this.#timed.add({ mediaMs, pts: timestamp }, arrivedMs)) this.#push(unit, pts)
    this.#flush()
  }

  #push(unit: AccessUnit, timestamp: number): void {
    const time = Buffer.alloc(TIME_BYTES)
    time.writeUInt32BE(timestamp >>> 0)
    this.#waiting.push(Buffer.concat([time, unit.payload()]))
    if (this.#waiting.length > MAX_WAITING) this.#waiting.shift()
  }

  #flush(): void {
    const channel = this.#channel
    if (channel === undefined) return
    while (this.#waiting[0] !== undefined && channel.queuedBytes < MAX_QUEUED_BYTES) {
      const [message] = this.#waiting
      const { maxMessageBytes } = channel
      // Not open yet.
      if (maxMessageBytes === 0) return
      if (message.length <= maxMessageBytes && !channel.send(message)) return
      this.#waiting.shift()
    }
  }
}
