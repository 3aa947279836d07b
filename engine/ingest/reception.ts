import type { ReceptionReport } from '../rtp/packet/rtcp.ts'

/** A larger step of the sequence number is a restart of the source (RFC 3550 appendix A.1). */
const MAX_DROPOUT = 3000

/** Reception statistics of one track (RFC 3550 sections 6.4.1, A.3 and A.8). */
export class Reception {
  readonly #clockRate: number
  #ssrc = 0
  /** Extended sequence numbers: the first, and the highest. */
  #base = 0
  #highest = 0
  #received = 0
  #before = { expected: 0, received: 0 }
  #jitter = 0
  #transit: number | undefined
  #lastReport = { middle: 0, arrivedMs: 0 }

  constructor(clockRate: number) {
    this.#clockRate = clockRate
  }

  get ssrc(): number {
    return this.#ssrc
  }

  packet(packet: Buffer, arrivedMs: number): void {
    const [sequence, ssrc] = [packet.readUInt16BE(2), packet.readUInt32BE(8)]
    const step = (sequence - this.#highest) & 0xffff
    const behind = 0x10000 - step
    if (this.#received === 0 || ssrc !== this.#ssrc || (step > MAX_DROPOUT && behind > MAX_DROPOUT)) this.#restart(ssrc, sequence)
    else if (step <= MAX_DROPOUT) this.#highest += step
    this.#received += 1
    this.#measure(packet.readUInt32BE(4), arrivedMs)
  }

  /** `middle`: the middle 32 bits of the NTP time of a sender report. */
  senderReport(middle: number, arrivedMs: number): void {
    this.#lastReport = { middle, arrivedMs }
  }

  /** Undefined before the first packet. */
  report(nowMs: number): ReceptionReport | undefined {
    if (this.#received === 0) return undefined
    const expected = this.#highest - this.#base + 1
    const [expectedNow, receivedNow] = [expected - this.#before.expected, this.#received - this.#before.received]
    this.#before = { expected, received: this.#received }
    const lost = expectedNow - receivedNow
    const { middle, arrivedMs } = this.#lastReport
    return {
      ssrc: this.#ssrc,
      fractionLost: expectedNow <= 0 || lost <= 0 ? 0 : lost / expectedNow,
      lost: expected - this.#received,
      highest: this.#highest,
      jitter: this.#jitter,
      lastReport: middle,
      delaySeconds: middle === 0 ? 0 : (nowMs - arrivedMs) / 1000,
    }
  }

  #restart(ssrc: number, sequence: number): void {
    this.#ssrc = ssrc
    this.#base = sequence
    this.#highest = sequence
    this.#received = 0
    this.#before = { expected: 0, received: 0 }
    this.#jitter = 0
    this.#transit = undefined
    this.#lastReport = { middle: 0, arrivedMs: 0 }
  }

  #measure(timestamp: number, arrivedMs: number): void {
    const transit = (Math.round((arrivedMs * this.#clockRate) / 1000) - timestamp) | 0
    if (this.#transit !== undefined) this.#jitter += (Math.abs((transit - this.#transit) | 0) - this.#jitter) / 16
    this.#transit = transit
  }
}
