import { Skew } from '../rtp/skew.ts'

const PACKET_BYTES = 188
const SYNC = 0x47
const TICKS_PER_MS = 90
const PTS_RANGE = 2 ** 33
/** PCR and arrival that diverge by more than this mean a new time base (ISO/IEC 13818-1 section 2.4.3.5), not jitter. */
const MAX_JUMP_TICKS = 1000 * TICKS_PER_MS
/** A presentation time stamp further from the PCR than this is ignored. */
const MAX_LEAD_TICKS = 10_000 * TICKS_PER_MS
/** After this long without a PCR of its PID, the clock switches to another PID. */
const MAX_SILENCE_TICKS = 2000 * TICKS_PER_MS

/** PID of a reference for a stream without PCR: its presentation time stamps. */
const NO_PID = -1

interface Reference {
  readonly pid: number
  /** 33 bits, 90 kHz. */
  readonly pcr: number
  /** Without wrapping at 33 bits. */
  readonly extended: number
  readonly arrival: number
  /** Running time less extended, as it was when the time base began. */
  readonly offset: number
}

/** Maps the time stamps of an MPEG-TS to running time, as tsdemux does: by its program clock reference (PCR) and the smallest lateness of its arrival. */
export class PcrClock {
  readonly #lateness = new Skew()
  #arrival: number | undefined
  #rawArrival = 0
  /** Bytes of the packet at the end of what was read before that are still to come. */
  #spilled = 0
  #reference: Reference | undefined

  /** Reads the PCR of the transport packets that are whole in these bytes. `rawArrival`: running time of their arrival, 90 kHz ticks modulo 2^32. */
  observe(transport: Buffer, rawArrival: number): void {
    this.#arrival = this.#arrival === undefined ? rawArrival : this.#arrival + ((rawArrival - this.#rawArrival) | 0)
    this.#rawArrival = rawArrival
    let newest: { readonly pid: number; readonly pcr: number } | undefined
    let at = this.#spilled
    for (; at + PACKET_BYTES <= transport.length; at += PACKET_BYTES) {
      if (transport[at] !== SYNC) at = nextPacket(transport, at)
      if (at + PACKET_BYTES > transport.length) break
      const pcr = readPcr(transport, at)
      if (pcr === undefined) continue
      const pid = transport.readUInt16BE(at + 1) & 0x1fff
      const { pid: followed = NO_PID } = this.#reference ?? {}
      if (followed === NO_PID) this.#update(pid, pcr, this.#arrival)
      // Only the last of those that came at once came when it was sent.
      if (pid === followed || newest?.pid !== followed) newest = { pid, pcr }
    }
    if (newest !== undefined) this.#update(newest.pid, newest.pcr, this.#arrival)
    this.#spilled = at < transport.length ? at + PACKET_BYTES - transport.length : at - transport.length
  }

  /** Running time of a presentation time stamp, 90 kHz ticks modulo 2^32; without a usable one, that of the last arrival. */
  runningTicks(pts: number | null): number {
    const arrival = this.#arrival ?? 0
    const reference = this.#reference
    if (pts === null || reference === undefined) return arrival >>> 0
    const lead = wrappedStep(pts - reference.pcr)
    if (Math.abs(lead) > MAX_LEAD_TICKS) return arrival >>> 0
    const running = reference.extended + lead + Math.round(this.#lateness.value * TICKS_PER_MS)
    return toUint32(running)
  }

  /**
   * The same by the clock of the source alone: within a time base, two of them are as far apart as their time stamps, and nothing wraps.
   */
  sourceTicks(pts: number): number {
    const arrival = this.#arrival ?? 0
    if (this.#reference === undefined || this.#reference.pid === NO_PID) this.#update(NO_PID, pts, arrival)
    const { pcr, extended, offset } = this.#reference ?? { pcr: pts, extended: pts, offset: arrival - pts }
    const lead = wrappedStep(pts - pcr)
    return Math.abs(lead) > MAX_LEAD_TICKS ? arrival : extended + lead + offset
  }

  #update(pid: number, pcr: number, arrival: number): void {
    const known = this.#reference
    const mayReplace = known === undefined || known.pid === pid || known.pid === NO_PID || arrival - known.arrival >= MAX_SILENCE_TICKS
    if (!mayReplace) return
    const step = known === undefined ? 0 : wrappedStep(pcr - known.pcr)
    const cameAtOnce = known?.arrival === arrival && step >= 0 && step < MAX_LEAD_TICKS
    const isSteady = known !== undefined && Math.abs(step - (arrival - known.arrival)) < MAX_JUMP_TICKS
    const continues = known !== undefined && known.pid === pid && (isSteady || cameAtOnce)
    if (!continues) this.#lateness.reset()
    const extended = continues ? known.extended + step : pcr
    const offset = continues ? known.offset : arrival - extended
    this.#reference = { pid, pcr, extended, arrival, offset }
    this.#lateness.observe((arrival - extended) / TICKS_PER_MS, arrival / TICKS_PER_MS)
  }
}

/** Where the next packet begins; the end, where none does. */
const nextPacket = (transport: Buffer, from: number): number => {
  for (let at = transport.indexOf(SYNC, from); at !== -1; at = transport.indexOf(SYNC, at + 1))
    if (at + PACKET_BYTES >= transport.length || transport[at + PACKET_BYTES] === SYNC) return at
  return transport.length
}

/** The PCR base of a transport packet, 33 bits, 90 kHz; undefined when it has none. */
const readPcr = (transport: Buffer, at: number): number | undefined => {
  const hasField = ((transport[at + 3] ?? 0) & 0x20) !== 0
  const hasPcr = (transport[at + 4] ?? 0) >= 7 && ((transport[at + 5] ?? 0) & 0x10) !== 0
  return hasField && hasPcr ? transport.readUInt32BE(at + 6) * 2 + ((transport[at + 10] ?? 0) >> 7) : undefined
}

/** The signed difference of 33-bit time stamps, modulo 2^33. */
const wrappedStep = (difference: number): number => {
  const step = ((difference % PTS_RANGE) + PTS_RANGE) % PTS_RANGE
  return step < PTS_RANGE / 2 ? step : step - PTS_RANGE
}

const toUint32 = (value: number): number => value - Math.floor(value / 2 ** 32) * 2 ** 32
