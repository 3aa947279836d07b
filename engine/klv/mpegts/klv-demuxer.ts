import { MetadataCellAssembler } from './metadata-cells.ts'
import { PesAssembler, type PesPacket } from './pes.ts'
import { type KlvTrack, klvTracksOf, MAX_TRACKS, programMapsOf, SectionAssembler } from './psi.ts'

/** The KLV bytes of one access unit: one or more universal sets glued together. */
export interface KlvUnit {
  readonly pid: number
  /** Presentation time stamp, 90 kHz ticks modulo 2^33; null when the stream gives none (asynchronous KLV need not). */
  readonly pts: number | null
  readonly bytes: Uint8Array
}

/** What has happened since the reader was made. */
export interface DemuxerCounters {
  transportPackets: number
  /** Packets with a transport error, scrambled, or with bytes lost before them. */
  damaged: number
  /** Bytes between transport packets. */
  skippedBytes: number
  units: number
}

const PACKET = 188
const SYNC = 0x47
const PAT_PID = 0
const NOTHING = new Uint8Array(0)

interface TrackState {
  readonly track: KlvTrack
  /** The PID of the program map that announces it. */
  readonly mapPid: number
  readonly pes: PesAssembler
  readonly cells: MetadataCellAssembler
}

/**
 * Walks an MPEG-TS (ISO/IEC 13818-1) cut anywhere and gives the KLV in it, synchronous (stream type 0x15 with metadata
 * access units) and asynchronous (0x06 registered as KLVA), as MISB ST 1402 maps them. Everything else is passed over.
 */
export class KlvDemuxer {
  readonly counters: DemuxerCounters = { transportPackets: 0, damaged: 0, skippedBytes: 0, units: 0 }
  #rest: Uint8Array = NOTHING
  #sawProgramMap = false
  readonly #pat = new SectionAssembler()
  readonly #programMaps = new Map<number, SectionAssembler>()
  readonly #tracks = new Map<number, TrackState>()
  /** The last continuity counter of each PID that is looked at. */
  readonly #continuity = new Map<number, number>()

  /** The KLV streams announced so far; null until a program map has been read. */
  get tracks(): readonly KlvTrack[] | null {
    return this.#sawProgramMap ? [...this.#tracks.values()].map(({ track }) => track) : null
  }

  /** The access units that are complete with this chunk. Their bytes are copies; the chunk may be reused. Never throws. */
  push(chunk: Uint8Array): KlvUnit[] {
    const units: KlvUnit[] = []
    const bytes = this.#rest.length === 0 ? chunk : concat(this.#rest, chunk)
    let at = 0
    while (at + PACKET <= bytes.length) {
      if (!inSync(bytes, at)) {
        const next = findSync(bytes, at + 1)
        this.counters.skippedBytes += next - at
        at = next
        continue
      }
      this.#takePacket(bytes.subarray(at, at + PACKET), units)
      at += PACKET
    }
    this.#rest = bytes.slice(at)
    return units
  }

  #takePacket(packet: Uint8Array, units: KlvUnit[]): void {
    this.counters.transportPackets += 1
    const pid = ((octet(packet, 1) & 0x1f) << 8) | octet(packet, 2)
    const wanted = pid === PAT_PID || this.#programMaps.has(pid) || this.#tracks.has(pid)
    if (!wanted) return
    const damaged = octet(packet, 1) >= 0x80 || (octet(packet, 3) & 0xc0) !== 0
    const payload = damaged ? null : payloadOf(packet)
    if (damaged) this.#lose(pid)
    if (payload === null) return
    const order = this.#checkContinuity(pid, packet)
    if (order === 'repeated') return
    if (order === 'lost') this.#lose(pid)
    this.#takePayload(pid, payload, (octet(packet, 1) & 0x40) !== 0, units)
  }

  #takePayload(pid: number, payload: Uint8Array, starts: boolean, units: KlvUnit[]): void {
    const state = this.#tracks.get(pid)
    if (state !== undefined) {
      for (const pes of state.pes.push(payload, starts)) this.#takePes(state, pes, units)
      return
    }
    if (pid === PAT_PID) for (const section of this.#pat.push(payload, starts)) this.#followPat(section)
    else for (const section of this.#programMaps.get(pid)?.push(payload, starts) ?? []) this.#followProgramMap(section, pid)
  }

  #takePes({ track, cells }: TrackState, pes: PesPacket, units: KlvUnit[]): void {
    const complete = track.synchronous ? cells.push(pes.payload) : [pes.payload]
    for (const bytes of complete) {
      if (bytes.length === 0) continue
      this.counters.units += 1
      units.push({ pid: track.pid, pts: pes.pts, bytes })
    }
  }

  #followPat(section: Uint8Array): void {
    const pids = programMapsOf(section)
    if (pids === null) return
    for (const pid of this.#programMaps.keys()) {
      if (pids.includes(pid)) continue
      this.#programMaps.delete(pid)
      this.#forgetTracks(pid, [])
    }
    for (const pid of pids) if (!this.#programMaps.has(pid)) this.#programMaps.set(pid, new SectionAssembler())
  }

  #followProgramMap(section: Uint8Array, mapPid: number): void {
    const map = klvTracksOf(section)
    if (map === null) return
    this.#sawProgramMap = true
    this.#forgetTracks(mapPid, map.tracks)
    for (const track of map.tracks)
      if (!this.#tracks.has(track.pid) && this.#tracks.size < MAX_TRACKS)
        this.#tracks.set(track.pid, { track, mapPid, pes: new PesAssembler(), cells: new MetadataCellAssembler() })
  }

  /** Ends the streams of a program map that it no longer announces. */
  #forgetTracks(mapPid: number, announced: readonly KlvTrack[]): void {
    for (const [pid, state] of this.#tracks)
      if (state.mapPid === mapPid && !announced.some((track) => sameTrack(track, state.track))) this.#tracks.delete(pid)
  }

  /** ISO/IEC 13818-1 2.4.3.3: the counter grows by one with every payload; a packet may be sent twice. */
  #checkContinuity(pid: number, packet: Uint8Array): 'next' | 'repeated' | 'lost' {
    const counter = octet(packet, 3) & 0x0f
    const last = this.#continuity.get(pid)
    this.#continuity.set(pid, counter)
    if (last === undefined || counter === ((last + 1) & 0x0f) || announcesDiscontinuity(packet)) return 'next'
    return counter === last ? 'repeated' : 'lost'
  }

  /** Bytes of this PID are missing: what is unfinished can no longer be completed. */
  #lose(pid: number): void {
    this.counters.damaged += 1
    const state = this.#tracks.get(pid)
    state?.pes.reset()
    state?.cells.reset()
    if (pid === PAT_PID) this.#pat.reset()
    this.#programMaps.get(pid)?.reset()
  }
}

const octet = (bytes: Uint8Array, at: number): number => bytes[at] ?? 0

const concat = (a: Uint8Array, b: Uint8Array): Uint8Array => {
  const both = new Uint8Array(a.length + b.length)
  both.set(a)
  both.set(b, a.length)
  return both
}

const sameTrack = (a: KlvTrack, b: KlvTrack): boolean => a.pid === b.pid && a.synchronous === b.synchronous

/** 0x47 also occurs inside packets, so where the next packet can be seen it has to begin with it too. */
const inSync = (bytes: Uint8Array, at: number): boolean =>
  bytes[at] === SYNC && (at + PACKET >= bytes.length || bytes[at + PACKET] === SYNC)

const findSync = (bytes: Uint8Array, from: number): number => {
  for (let at = bytes.indexOf(SYNC, from); at !== -1; at = bytes.indexOf(SYNC, at + 1)) if (inSync(bytes, at)) return at
  return bytes.length
}

const hasAdaptationField = (packet: Uint8Array): boolean => (octet(packet, 3) & 0x20) !== 0

const announcesDiscontinuity = (packet: Uint8Array): boolean =>
  hasAdaptationField(packet) && octet(packet, 4) > 0 && (octet(packet, 5) & 0x80) !== 0

/** The payload of a transport packet, null when it has none. */
const payloadOf = (packet: Uint8Array): Uint8Array | null => {
  if ((octet(packet, 3) & 0x10) === 0) return null
  const start = hasAdaptationField(packet) ? 5 + octet(packet, 4) : 4
  return start < PACKET ? packet.subarray(start) : null
}
