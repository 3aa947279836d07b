import { bytesOf, payloadOf, payloadTypeOf, RTP_HEADER_BYTES, sequenceOf, ssrcOf } from './packet/packet.ts'
import { isNalCodec, NAL_FORMATS, replaceNals, wholeNals } from './repair/nal-units.ts'

const FRAME_HEADER_BYTES = 4
const SEQUENCE_OFFSET = FRAME_HEADER_BYTES + 2
const TIMESTAMP_OFFSET = FRAME_HEADER_BYTES + 4
/** A frame has 16 bits for the length of its packet. */
const MAX_PACKET_BYTES = 65_535
/** In the first byte of an RTP packet. */
const PADDING = 0x20
/** Room before the packets of a unit of this size, for the sound that is sent with it: some 0.6 kB of AAC for each picture. */
const [ROOM_BYTES, ROOMY_UNIT_BYTES] = [1024, 8192]

/** The RTP header fields of a unit's packets. */
interface UnitHeader {
  readonly payload: number
  readonly ssrc: number
  /** One per packet. */
  readonly sequences: readonly number[]
  readonly timestamp: number
}

/** The RTP packets of a unit back to back, as UDP carries them. Read-only. */
export interface Datagrams {
  readonly data: Buffer
  /** Where each packet begins, and where the last one ends. */
  readonly starts: readonly number[]
}

/** Packets in the framing of RFC 2326 section 10.12. */
interface Framed {
  readonly framed: Buffer
  /** Where the frame of each packet begins. */
  readonly starts: readonly number[]
  /** There is room before them. */
  readonly hasRoom: boolean
}

interface UnitFacts {
  /** Number of the unit in its stream, over all runs. */
  readonly index: number
  /** A decoder can start here. */
  readonly key: boolean
  /** A decoder that starts here shows incomplete pictures for this many more; 0, or left out, where it shows none. */
  readonly recoveryFrames?: number
  /** Time of the picture on the stream's timeline, monotonic milliseconds. */
  readonly mediaMs: number
  /** Arrival of its last packet, monotonic milliseconds. */
  readonly arrivedMs: number
}

/**
 * The RTP packets of one access unit, stored once, in the interleaved framing of RFC 2326 section 10.12, because
 * most readers receive it over TCP.
 */
export class AccessUnit implements UnitFacts {
  readonly index: number
  readonly key: boolean
  readonly recoveryFrames: number
  readonly mediaMs: number
  readonly arrivedMs: number
  readonly timestamp: number
  readonly firstSequence: number
  readonly lastSequence: number
  readonly packetCount: number
  /** Bytes of RTP. */
  readonly bytes: number
  /** What is before them is room for the sound of one `framedAfter`. */
  readonly #framed: Buffer
  readonly #starts: readonly number[]
  #hasRoom: boolean
  #after: { readonly first: readonly Buffer[]; readonly framed: Buffer; readonly bytes: Buffer } | undefined
  #datagrams: Datagrams | undefined
  #otherChannel: { readonly channel: number; readonly framed: Buffer } | undefined

  private constructor({ framed, starts, hasRoom }: Framed, facts: UnitFacts) {
    this.index = facts.index
    this.key = facts.key
    this.recoveryFrames = facts.recoveryFrames ?? 0
    this.mediaMs = facts.mediaMs
    this.arrivedMs = facts.arrivedMs
    this.packetCount = starts.length
    this.bytes = framed.length - FRAME_HEADER_BYTES * starts.length
    this.#framed = framed
    this.#starts = starts
    this.#hasRoom = hasRoom
    this.timestamp = starts.length === 0 ? 0 : framed.readUInt32BE(TIMESTAMP_OFFSET)
    this.firstSequence = starts.length === 0 ? 0 : framed.readUInt16BE(SEQUENCE_OFFSET)
    this.lastSequence = starts.length === 0 ? 0 : framed.readUInt16BE((starts.at(-1) ?? 0) + SEQUENCE_OFFSET)
  }

  /** Copies the packets once and rewrites their RTP headers. */
  static of(packets: readonly Buffer[], header: UnitHeader, facts: UnitFacts): AccessUnit {
    const bytes = totalBytes(packets)
    const hasRoom = bytes >= ROOMY_UNIT_BYTES
    const room = hasRoom ? ROOM_BYTES : 0
    const framed = Buffer.allocUnsafeSlow(room + bytes + FRAME_HEADER_BYTES * packets.length).subarray(room)
    const starts: number[] = []
    let offset = 0
    let at = 0
    for (const packet of packets) {
      starts.push(offset)
      offset = append(framed, offset, packet, header, header.sequences[at++] ?? 0)
    }
    return new AccessUnit({ framed, starts, hasRoom }, facts)
  }

  /** The same object for a unit and its copies: what is known of one is known of all. */
  get identity(): object {
    return this.#starts
  }

  /** Bytes of the packets in their framing. */
  get framedBytes(): number {
    return this.#framed.length
  }

  /** A copy whose packets are in this memory of `framedBytes`. */
  copiedTo(memory: Buffer): AccessUnit {
    this.#framed.copy(memory)
    return new AccessUnit({ framed: memory, starts: this.#starts, hasRoom: false }, this)
  }

  /** All packets framed for an interleaved channel, in one buffer that all readers on this channel share. Read-only. */
  framed(channel: number): Buffer {
    if (channel === 0) return this.#framed
    if (this.#otherChannel?.channel === channel) return this.#otherChannel.framed
    const framed = this.#copy(channel)
    this.#otherChannel = { channel, framed }
    return framed
  }

  /** What `framed` or `retimed` gave, with other frames before it in the same piece of memory, which readers with the same ones share. */
  framedAfter(first: readonly Buffer[], framed: Buffer): Buffer {
    const after = this.#after
    if (after?.framed === framed && after.first.length === first.length && after.first.every((one, at) => one === first[at]))
      return after.bytes
    const bytes = this.#inRoom(first, framed) ?? Buffer.concat([...first, framed])
    this.#after = { first, framed, bytes }
    return bytes
  }

  /** New memory for each picture would make V8 mark its whole heap twice as often. The room is used once: it may still be written to a reader. */
  #inRoom(first: readonly Buffer[], framed: Buffer): Buffer | undefined {
    const length = totalBytes(first)
    if (!this.#hasRoom || framed !== this.#framed || length > ROOM_BYTES) return undefined
    this.#hasRoom = false
    const bytes = Buffer.from(framed.buffer, framed.byteOffset - length, length + framed.length)
    let end = 0
    for (const one of first) end += one.copy(bytes, end)
    return bytes
  }

  /** A copy framed for a channel, with another RTP timestamp in its packets. */
  retimed(channel: number, timestamp: number): Buffer {
    const framed = this.#copy(channel)
    for (const start of this.#starts) framed.writeUInt32BE(timestamp >>> 0, start + TIMESTAMP_OFFSET)
    return framed
  }

  /** The RTP packets, as views. */
  packets(): readonly Buffer[] {
    const framed = this.#framed
    return this.#starts.map((start, at) => framed.subarray(start + FRAME_HEADER_BYTES, this.#starts[at + 1] ?? framed.length))
  }

  /** The RTP packets for UDP, shared by all readers; with another RTP timestamp, a copy of them. */
  datagrams(timestamp?: number): Datagrams {
    if (timestamp !== undefined) return this.#backToBack(this.retimed(0, timestamp))
    this.#datagrams ??= this.#backToBack(this.#framed)
    return this.#datagrams
  }

  /** The RTP payloads, views of the packets. */
  payloads(): readonly Buffer[] {
    return this.packets().map((packet) => {
      const payload = payloadOf(packet)
      return payload ? bytesOf(payload) : packet.subarray(RTP_HEADER_BYTES)
    })
  }

  /** The RTP payloads, one after the other: the whole unit for formats that only split, such as KLV (RFC 6597). */
  payload(): Buffer {
    const payloads = this.payloads()
    return payloads.length === 1 && payloads[0] ? payloads[0] : Buffer.concat(payloads)
  }

  /** The NAL units that are whole in a packet; empty for other codecs. */
  nals(encodingName: string): readonly Buffer[] {
    return isNalCodec(encodingName) ? this.payloads().flatMap((payload) => wholeNals(NAL_FORMATS[encodingName], payload)) : []
  }

  /** A copy of the unit in which `change` has replaced NAL units that are whole in a packet; the unit itself when nothing changes. */
  withNals(encodingName: string, change: (nal: Buffer) => Buffer | undefined): AccessUnit {
    if (!isNalCodec(encodingName)) return this
    const before = this.packets()
    const packets = before.map((packet) => withPayload(packet, (payload) => replaceNals(NAL_FORMATS[encodingName], payload, change)))
    const [first] = packets
    if (first === undefined || packets.every((packet, at) => packet === before[at])) return this
    const header = { payload: payloadTypeOf(first), ssrc: ssrcOf(first), sequences: packets.map(sequenceOf), timestamp: this.timestamp }
    return AccessUnit.of(packets, header, this)
  }

  #backToBack(framed: Buffer): Datagrams {
    const data = Buffer.allocUnsafeSlow(this.bytes)
    const starts: number[] = []
    let end = 0
    for (const start of this.#starts) {
      starts.push(end)
      const rtp = start + FRAME_HEADER_BYTES
      end += framed.copy(data, end, rtp, rtp + framed.readUInt16BE(start + 2))
    }
    starts.push(end)
    return { data, starts }
  }

  #copy(channel: number): Buffer {
    const framed = Buffer.from(this.#framed)
    for (const start of this.#starts) framed[start + 1] = channel
    return framed
  }

  /** Frees the copies that readers share; the unit itself may stay in a cache. */
  release(): void {
    this.#datagrams = undefined
    this.#otherChannel = undefined
    this.#after = undefined
  }
}

/** Writes a frame with a packet; answers where it ends. */
const append = (framed: Buffer, offset: number, packet: Buffer, header: UnitHeader, sequence: number): number => {
  const rtp = offset + FRAME_HEADER_BYTES
  framed[offset] = 0x24
  framed[offset + 1] = 0
  framed.writeUInt16BE(packet.length, offset + 2)
  packet.copy(framed, rtp)
  framed[rtp + 1] = ((packet[1] ?? 0) & 0x80) | header.payload
  framed.writeUInt16BE(sequence, rtp + 2)
  framed.writeUInt32BE(header.timestamp, rtp + 4)
  framed.writeUInt32BE(header.ssrc, rtp + 8)
  return rtp + packet.length
}

/** Drops the padding, whose length counts from the end. */
const withPayload = (packet: Buffer, change: (payload: Buffer) => Buffer | undefined): Buffer => {
  const before = payloadOf(packet)
  if (before === undefined) return packet
  const payload = change(bytesOf(before))
  if (payload === undefined || before.start + payload.length > MAX_PACKET_BYTES) return packet
  const header = Buffer.from(packet.subarray(0, before.start))
  header[0] = (header[0] ?? 0) & ~PADDING
  return Buffer.concat([header, payload])
}

const totalBytes = (packets: readonly Buffer[]): number => {
  let bytes = 0
  for (const { length } of packets) bytes += length
  return bytes
}
