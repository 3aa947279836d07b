import { readBerLength } from './ber.ts'
import { decodePacket, KEY_LENGTH, type KlvPacket, ST0601_KEY } from './packet.ts'

interface StreamParserOptions {
  /** Longer packets are skipped as garbage. Bytes, key included. */
  readonly maxPacketBytes?: number
}

/** Counters since the parser was created. */
interface StreamParserCounters {
  packets: number
  badChecksums: number
  /** Packets with a valid checksum and invalid items. */
  malformed: number
  /** Sets under another universal key (ST 0102, ST 0806, …), skipped whole. */
  unknownSets: number
  /** Bytes outside of any set. */
  skippedBytes: number
}

/** The most that a PES packet with a length can carry; real packets have some hundred bytes, with VMTI some thousand. */
const DEFAULT_MAX_PACKET_BYTES = 64 * 1024
/** Chunks are read in slices, so that the buffer stays bounded. */
const SLICE_BYTES = 64 * 1024
/** Every SMPTE universal label begins with these (SMPTE ST 298). */
const LABEL_PREFIX = ST0601_KEY.subarray(0, 4)
/** Bytes that failed checksums may sum per received byte; without a limit, crafted nested keys would cost quadratic time. */
const SUMMED_PER_BYTE = 8
const NOTHING = new Uint8Array(0)

type Found = { readonly next: number; readonly wait: boolean }

/**
 * Finds ST 0601 packets in a byte stream that arrives in arbitrary chunks, between garbage and other universal sets. Buffers at
 * most one unfinished packet. A set that never completes does not hide the valid packets after it.
 */
export class KlvStreamParser {
  readonly counters: StreamParserCounters = { packets: 0, badChecksums: 0, malformed: 0, unknownSets: 0, skippedBytes: 0 }
  readonly #maxPacketBytes: number
  #buffer = NOTHING
  #length = 0
  /** How far the unfinished set has been searched for a packet that begins inside it. */
  #searched = 0
  /** Bytes that failed checksums may still sum. */
  #credit = 0

  constructor(options: StreamParserOptions = {}) {
    this.#maxPacketBytes = options.maxPacketBytes ?? DEFAULT_MAX_PACKET_BYTES
  }

  /** Bytes of the unfinished packet. */
  get bufferedBytes(): number {
    return this.#length
  }

  /** The packets that this chunk completes. Their bytes are copies; the chunk may be reused. Never throws. */
  push(chunk: Uint8Array): KlvPacket[] {
    const only = this.#length === 0 ? this.#wholeChunk(chunk) : null
    if (only !== null) return [only]
    const packets: KlvPacket[] = []
    for (let at = 0; at < chunk.length; at += SLICE_BYTES) {
      this.#append(chunk.subarray(at, at + SLICE_BYTES))
      this.#drop(this.#take(packets))
    }
    return packets
  }

  /** Drops the unfinished packet, after a loss in the source. */
  reset(): void {
    this.counters.skippedBytes += this.#length
    this.#searched = 0
    this.#drop(this.#length)
  }

  /** The usual case, an access unit of exactly one packet, needs no buffer. */
  #wholeChunk(chunk: Uint8Array): KlvPacket | null {
    if (chunk.length > this.#maxPacketBytes || !startsWith(chunk, 0, ST0601_KEY)) return null
    const packet = decodePacket(chunk.slice())
    if (typeof packet === 'string' || packet.bytes.length !== chunk.length) return null
    this.counters.packets += 1
    return packet
  }

  #append(bytes: Uint8Array): void {
    const needed = this.#length + bytes.length
    if (needed > this.#buffer.length) {
      const grown = new Uint8Array(Math.max(needed, Math.min(this.#buffer.length * 2, this.#maxPacketBytes + SLICE_BYTES)))
      grown.set(this.#buffer.subarray(0, this.#length))
      this.#buffer = grown
    }
    this.#buffer.set(bytes, this.#length)
    this.#length = needed
    this.#credit = Math.min(this.#credit + bytes.length * SUMMED_PER_BYTE, this.#maxPacketBytes * SUMMED_PER_BYTE)
  }

  /** Drops consumed bytes, and a large buffer once it is empty. */
  #drop(consumed: number): void {
    if (consumed === 0) return
    this.#buffer.copyWithin(0, consumed, this.#length)
    this.#length -= consumed
    if (this.#length === 0 && this.#buffer.length > SLICE_BYTES) this.#buffer = NOTHING
  }

  /** Parses all complete sets and returns the number of consumed bytes. */
  #take(packets: KlvPacket[]): number {
    const bytes = this.#buffer.subarray(0, this.#length)
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    let at = 0
    while (at < bytes.length) {
      const label = findPrefix(bytes, LABEL_PREFIX, at)
      this.counters.skippedBytes += label - at
      const found = this.#takeSet(bytes, view, label, packets)
      at = found.next
      if (found.wait) break
      this.#searched = 0
    }
    return at
  }

  /** Parses the set that begins at `at`, or that may begin there when its key is incomplete. */
  #takeSet(bytes: Uint8Array, view: DataView, at: number, packets: KlvPacket[]): Found {
    if (at + KEY_LENGTH >= bytes.length) return { next: at, wait: true }
    const length = readBerLength(view, at + KEY_LENGTH, bytes.length)
    if (length === 'truncated') return { next: at, wait: true }
    if (length === 'malformed') return this.#skip(at)
    const end = length.next + length.value
    if (end - at > this.#maxPacketBytes) return this.#skip(at)
    if (!startsWith(bytes, at, ST0601_KEY)) return this.#skipOtherSet(bytes, at, end)
    if (end > bytes.length) return this.#searchInside(bytes, at)
    return this.#takePacket(bytes.slice(at, end), at, end, packets)
  }

  #takePacket(bytes: Uint8Array, at: number, end: number, packets: KlvPacket[]): Found {
    const packet = decodePacket(bytes)
    if (typeof packet !== 'string') {
      this.counters.packets += 1
      packets.push(packet)
      return { next: end, wait: false }
    }
    if (packet === 'malformed') this.counters.malformed += 1
    else this.counters.badChecksums += 1
    // The length may be wrong: the next packet can begin anywhere after this key.
    if (this.#spend(end - at)) return this.#skip(at)
    this.counters.skippedBytes += end - at
    return { next: end, wait: false }
  }

  /** Skips a set of another kind. Garbage can resemble one, so skipping stops where an ST 0601 key begins. */
  #skipOtherSet(bytes: Uint8Array, at: number, end: number): Found {
    // Not beyond it: many short sets would cost quadratic time.
    const key = findPrefix(bytes, ST0601_KEY, at + Math.max(1, this.#searched), end)
    if (key < end && key + KEY_LENGTH <= bytes.length) {
      this.counters.skippedBytes += key - at
      return { next: key, wait: false }
    }
    if (end <= bytes.length) {
      this.counters.unknownSets += 1
      return { next: Math.min(end, key), wait: false }
    }
    this.#searched = key - at
    return { next: at, wait: true }
  }

  #skip(at: number): Found {
    this.counters.skippedBytes += LABEL_PREFIX.length
    return { next: at + LABEL_PREFIX.length, wait: false }
  }

  #spend(bytes: number): boolean {
    if (bytes > this.#credit) return false
    this.#credit -= bytes
    return true
  }

  /** After a lost fragment or with a wrong length, a set includes the next one: a valid packet inside it ends the wait. */
  #searchInside(bytes: Uint8Array, at: number): Found {
    let inside = findPrefix(bytes, ST0601_KEY, at + Math.max(1, this.#searched))
    while (inside + KEY_LENGTH < bytes.length) {
      const packet = decodePacket(bytes.subarray(inside))
      if (typeof packet !== 'string') {
        this.counters.skippedBytes += inside - at
        return { next: inside, wait: false }
      }
      if (packet === 'truncated' || !this.#spend(bytes.length - inside)) break
      inside = findPrefix(bytes, ST0601_KEY, inside + 1)
    }
    this.#searched = inside - at
    return { next: at, wait: true }
  }
}

const startsWith = (bytes: Uint8Array, at: number, prefix: Uint8Array): boolean => {
  const end = Math.min(prefix.length, bytes.length - at)
  for (let i = 0; i < end; i++) if (bytes[at + i] !== prefix[i]) return false
  return true
}

/** Offset of `prefix` at or after `from` and before `to`, or of a part of it at the end of `bytes`; else `to`, at most `bytes.length`. */
const findPrefix = (bytes: Uint8Array, prefix: Uint8Array, from: number, to = bytes.length): number => {
  const last = Math.min(to, bytes.length)
  const first = prefix[0] ?? 0
  const searched = bytes.subarray(0, last)
  for (let at = searched.indexOf(first, from); at !== -1; at = searched.indexOf(first, at + 1)) if (startsWith(bytes, at, prefix)) return at
  return last
}
