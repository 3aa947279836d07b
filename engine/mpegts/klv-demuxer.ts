import { MetadataCellAssembler } from './metadata-cells.ts'
import { PesAssembler, type PesPacket } from './pes.ts'
import { type ElementaryStream, type KlvTrack, MAX_TRACKS, programMapOf, programMapsOf, SectionAssembler } from './psi.ts'

/** The KLV bytes of one access unit: one or more universal sets in sequence. */
export interface KlvUnit {
  readonly pid: number
  /** Presentation time stamp, 90 kHz ticks modulo 2^33; null when it has none (optional for asynchronous KLV). */
  readonly pts: number | null
  readonly bytes: Uint8Array
}

/** Counters since the demuxer was created. */
interface DemuxerCounters {
  /** Packets with a transport error, scrambled, or after a loss. */
  damaged: number
  /** Bytes between transport packets. */
  skippedBytes: number
}

const PACKET = 188
const SYNC = 0x47
const PAT_PID = 0
const NOTHING = new Uint8Array(0)

/** The first program with video. */
export interface AnnouncedVideo {
  readonly program: number
  /** The program whose map came first: tsdemux takes it, also without video. */
  readonly firstProgram: number
  /** The stream types of its video; none when the map of every program has been read, and none has video. */
  readonly types: readonly number[]
}

/** The video of a program. */
interface ProgramVideo {
  readonly program: number
  readonly video: readonly string[]
}

export interface DemuxerOptions {
  /** No packet is lost on the way: a counter that begins anew is that of another segment. */
  readonly reliable?: boolean
}

/** Takes other streams of the program that is played. */
export interface MediaReceiver {
  /** The streams of its newest map; returns those that are wanted, each with the size of its largest PES packet. */
  select(streams: readonly ElementaryStream[]): ReadonlyMap<number, { readonly maxBytes: number }>
  /** A PES packet of a stream. */
  take(pid: number, pes: PesPacket): void
  /** Packets of a stream are missing. */
  lost(pid: number): void
}

interface TrackState {
  readonly track: KlvTrack
  /** The PID of the program map that announces it. */
  readonly mapPid: number
  readonly pes: PesAssembler
  readonly cells: MetadataCellAssembler
}

/**
 * Demultiplexes the KLV of an MPEG-TS (ISO/IEC 13818-1) that arrives in arbitrary chunks: synchronous (stream type 0x15 with
 * metadata access units) and asynchronous (0x06 registered as KLVA), as in MISB ST 1402. Other streams go to the receiver of media, if any.
 */
export class KlvDemuxer {
  readonly counters: DemuxerCounters = { damaged: 0, skippedBytes: 0 }
  #rest: Uint8Array = NOTHING
  readonly #readMaps = new Set<number>()
  readonly #pat = new SectionAssembler()
  readonly #programMaps = new Map<number, SectionAssembler>()
  readonly #tracks = new Map<number, TrackState>()
  /** The program with video whose map came first: the one that is played. */
  #followed: (ProgramVideo & { readonly mapPid: number }) | undefined
  #firstProgram: number | undefined
  #videoLost = false
  /** The last continuity counter per PID. */
  readonly #continuity = new Map<number, number>()
  readonly #reliable: boolean
  readonly #media: MediaReceiver | undefined
  readonly #mediaTracks = new Map<number, PesAssembler>()

  constructor({ reliable = false }: DemuxerOptions = {}, media?: MediaReceiver) {
    this.#reliable = reliable
    this.#media = media
  }

  /** The announced KLV streams; null until a program map has been read. */
  get tracks(): readonly KlvTrack[] | null {
    return this.#readMaps.size > 0 ? [...this.#tracks.values()].map(({ track }) => track) : null
  }

  /** Whether the packets of a PID are read; the others need not be pushed. */
  reads(pid: number): boolean {
    return pid === PAT_PID || this.#programMaps.has(pid) || this.#tracks.has(pid) || this.#mediaTracks.has(pid)
  }

  /** Whether KLV is announced; undefined until the map of every program has been read. */
  get hasKlv(): boolean | undefined {
    if (this.#tracks.size > 0) return true
    return this.#hasReadAll ? false : undefined
  }

  get #hasReadAll(): boolean {
    const maps = [...this.#programMaps.keys()]
    return maps.length > 0 && maps.every((pid) => this.#readMaps.has(pid))
  }

  /** The video stream that was announced first is no longer announced, or has another type: its players get nothing any more. */
  get videoLost(): boolean {
    return this.#videoLost
  }

  /** Undefined before its program map. */
  get announcedVideo(): AnnouncedVideo | undefined {
    if (this.#firstProgram === undefined) return undefined
    if (this.#followed === undefined)
      return this.#hasReadAll ? { program: this.#firstProgram, firstProgram: this.#firstProgram, types: [] } : undefined
    const { program, video } = this.#followed
    return { program, firstProgram: this.#firstProgram, types: video.map((stream) => Number.parseInt(stream, 10)) }
  }

  /** The access units that this chunk completes. Their bytes are copies; the chunk may be reused. Never throws. */
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

  /** The stream is over: passes on the packets of media that have no length of their own. */
  end(): void {
    for (const [pid, assembler] of this.#mediaTracks) for (const pes of assembler.end()) this.#media?.take(pid, pes)
  }

  #takePacket(packet: Uint8Array, units: KlvUnit[]): void {
    const pid = ((octet(packet, 1) & 0x1f) << 8) | octet(packet, 2)
    if (!this.reads(pid)) return
    const damaged = octet(packet, 1) >= 0x80 || (octet(packet, 3) & 0xc0) !== 0
    const payload = damaged ? null : payloadOf(packet)
    if (damaged) this.#onLoss(pid)
    if (payload === null) return
    const order = this.#checkContinuity(pid, packet)
    if (order === 'repeated') return
    const starts = (octet(packet, 1) & 0x40) !== 0
    if (order === 'lost' && !(starts && this.#reliable)) this.#onLoss(pid)
    this.#takePayload(pid, payload, starts, units)
  }

  #takePayload(pid: number, payload: Uint8Array, starts: boolean, units: KlvUnit[]): void {
    const media = this.#mediaTracks.get(pid)
    if (media !== undefined) {
      for (const pes of media.push(payload, starts)) this.#media?.take(pid, pes)
      return
    }
    const state = this.#tracks.get(pid)
    if (state !== undefined) {
      for (const pes of state.pes.push(payload, starts)) this.#takePes(state, pes, units)
      return
    }
    if (pid === PAT_PID) for (const section of this.#pat.push(payload, starts)) this.#readPat(section)
    else for (const section of this.#programMaps.get(pid)?.push(payload, starts) ?? []) this.#readProgramMap(section, pid)
  }

  #takePes({ track, cells }: TrackState, pes: PesPacket, units: KlvUnit[]): void {
    const complete = track.synchronous ? cells.push(pes.payload) : [pes.payload]
    for (const bytes of complete) {
      if (bytes.length === 0) continue
      units.push({ pid: track.pid, pts: pes.pts, bytes })
    }
  }

  #readPat(section: Uint8Array): void {
    const pids = programMapsOf(section)
    if (pids === null) return
    for (const pid of this.#programMaps.keys()) {
      if (pids.includes(pid)) continue
      this.#programMaps.delete(pid)
      this.#readMaps.delete(pid)
      this.#removeTracks(({ mapPid }) => mapPid === pid)
    }
    for (const pid of pids) if (!this.#programMaps.has(pid)) this.#programMaps.set(pid, new SectionAssembler())
  }

  #readProgramMap(section: Uint8Array, mapPid: number): void {
    const map = programMapOf(section)
    if (map === null) return
    this.#readMaps.add(mapPid)
    this.#firstProgram ??= map.program
    this.#follow(map, mapPid)
    if (this.#followed?.program === map.program) this.#selectMedia(map.streams)
    const tracks = this.#isOfOtherVideo(map) ? [] : map.tracks
    // Only those of this program: the maps of several may share a PID.
    this.#removeTracks(({ track }) => track.program === map.program && !tracks.some((announced) => sameTrack(announced, track)))
    for (const track of tracks)
      if (!this.#tracks.has(track.pid) && this.#tracks.size < MAX_TRACKS)
        this.#tracks.set(track.pid, { track, mapPid, pes: new PesAssembler(), cells: new MetadataCellAssembler() })
  }

  #follow({ program, video }: ProgramVideo, mapPid: number): void {
    const before = this.#followed
    if (before === undefined) this.#followed = video.length === 0 ? undefined : { program, video, mapPid }
    // Another program replaces it when its map is gone.
    else if (before.program === program || !this.#programMaps.has(before.mapPid)) {
      const [first = ''] = before.video
      this.#videoLost ||= before.program !== program || !video.includes(first)
      this.#followed = { ...before, mapPid }
    }
  }

  #selectMedia(streams: readonly ElementaryStream[]): void {
    const wanted = this.#media?.select(streams) ?? new Map<number, never>()
    for (const pid of this.#mediaTracks.keys()) if (!wanted.has(pid)) this.#mediaTracks.delete(pid)
    for (const [pid, { maxBytes }] of wanted) if (!this.#mediaTracks.has(pid)) this.#mediaTracks.set(pid, new PesAssembler(maxBytes))
  }

  /** Another program with video has its own aircraft. */
  #isOfOtherVideo({ program, video }: ProgramVideo): boolean {
    return video.length > 0 && this.#followed !== undefined && this.#followed.program !== program
  }

  /** Removes streams that are no longer announced. */
  #removeTracks(isGone: (state: TrackState) => boolean): void {
    for (const [pid, state] of this.#tracks) if (isGone(state)) this.#tracks.delete(pid)
  }

  /** ISO/IEC 13818-1 section 2.4.3.3: the counter increases by one with every payload; a packet may be sent twice. */
  #checkContinuity(pid: number, packet: Uint8Array): 'next' | 'repeated' | 'lost' {
    const counter = octet(packet, 3) & 0x0f
    const last = this.#continuity.get(pid)
    this.#continuity.set(pid, counter)
    if (last === undefined || counter === ((last + 1) & 0x0f) || announcesDiscontinuity(packet)) return 'next'
    return counter === last ? 'repeated' : 'lost'
  }

  /** Drops the unfinished data of a PID after a loss. */
  #onLoss(pid: number): void {
    this.counters.damaged += 1
    const state = this.#tracks.get(pid)
    state?.pes.reset()
    state?.cells.reset()
    if (pid === PAT_PID) this.#pat.reset()
    this.#programMaps.get(pid)?.reset()
    const media = this.#mediaTracks.get(pid)
    if (media === undefined) return
    media.reset()
    this.#media?.lost(pid)
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

/** 0x47 also occurs inside packets, so the next packet, if present, must begin with it too. */
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
