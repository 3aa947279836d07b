import { setTimeout as wait } from 'node:timers/promises'
import { PACKET_BYTES } from '../../mpegts/ts-muxer.ts'

const SYNC = 0x47
const PCR_CYCLE = 2 ** 33
const TICKS_PER_MS = 90
/** A clock that is further ahead than this has begun anew. */
const MAX_AHEAD_MS = 10_000
/** Packets without a PCR of the PID that is followed, after which another one is. */
const MAX_OTHERS = 10_000

/** Says when the packets of a recorded MPEG-TS are due, by its program clock reference (ISO/IEC 13818-1 section 2.4.3.5). */
class PcrSchedule {
  #pid = -1
  #others = 0
  #first: { readonly pcr: number; readonly atMs: number } | undefined

  /** When a packet is due, monotonic milliseconds; undefined for one without a PCR, which goes with the one before. */
  dueMs(packet: Buffer, nowMs: number): number | undefined {
    const pcr = pcrOf(packet)
    if (pcr === undefined) return undefined
    const pid = packet.readUInt16BE(1) & 0x1fff
    if (pid !== this.#pid) {
      this.#others += 1
      if (this.#first !== undefined && this.#others < MAX_OTHERS) return undefined
      this.#pid = pid
      this.#first = undefined
    }
    this.#others = 0
    const due = this.#first && this.#first.atMs + stepOf(pcr - this.#first.pcr) / TICKS_PER_MS
    if (due !== undefined && due - nowMs < MAX_AHEAD_MS && due >= (this.#first?.atMs ?? 0)) return due
    this.#first = { pcr, atMs: nowMs }
    return nowMs
  }
}

const pcrOf = (packet: Buffer): number | undefined => {
  const hasPcr = ((packet[3] ?? 0) & 0x20) !== 0 && (packet[4] ?? 0) >= 7 && ((packet[5] ?? 0) & 0x10) !== 0
  return hasPcr ? packet.readUInt32BE(6) * 2 + ((packet[10] ?? 0) >> 7) : undefined
}

/** The signed difference of 33-bit time stamps. */
const stepOf = (difference: number): number => {
  const step = ((difference % PCR_CYCLE) + PCR_CYCLE) % PCR_CYCLE
  return step < PCR_CYCLE / 2 ? step : step - PCR_CYCLE
}

/** Packets of MPEG-TS, and when they were due, monotonic milliseconds. */
interface DuePackets {
  readonly bytes: Buffer
  readonly dueMs: number
}

/** The bytes of a recorded MPEG-TS, at the speed of its clock. Rejects with the error of the stream, and with that of the signal. */
export async function* paced(stream: AsyncIterable<Buffer>, signal: AbortSignal): AsyncGenerator<DuePackets> {
  const schedule = new PcrSchedule()
  let dueMs = performance.now()
  let rest: Buffer = Buffer.alloc(0)
  for await (const chunk of stream) {
    const bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
    let [from, at] = [0, 0]
    while (at + PACKET_BYTES <= bytes.length) {
      if (bytes[at] !== SYNC) {
        at += 1
        continue
      }
      const nowMs = performance.now()
      const due = schedule.dueMs(bytes.subarray(at, at + PACKET_BYTES), nowMs)
      if (due !== undefined) {
        if (at > from) yield { bytes: bytes.subarray(from, at), dueMs }
        from = at
        dueMs = due
        if (due > nowMs + 1) await wait(due - nowMs, undefined, { signal })
      }
      at += PACKET_BYTES
    }
    if (at > from) yield { bytes: bytes.subarray(from, at), dueMs }
    rest = Buffer.from(bytes.subarray(at))
  }
}
