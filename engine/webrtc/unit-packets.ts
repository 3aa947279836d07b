import type { AccessUnit } from '../rtp/access-unit.ts'
import { type Fragmenter, fragmenterOf } from '../rtp/fragment.ts'
import { bytesOf, checkedPayloadOf, hasMarker, sequenceOf } from '../rtp/packet/packet.ts'

/** An RTP packet without its header, which differs from session to session. */
export interface PacketBody {
  readonly marker: boolean
  readonly payload: Buffer
}

/** RTP packets up to this size pass every usual path: 1,280 bytes of IPv6 less IP, UDP, SRTP and a header extension. */
const SIZES = { passed: 1200, cut: 1200 }

/** The packets of the units of a stream, cut once for all sessions. */
export class UnitPackets {
  readonly encodingName: string
  readonly #fragment: Fragmenter
  readonly #units = new WeakMap<AccessUnit, readonly PacketBody[]>()

  constructor(encodingName: string) {
    this.encodingName = encodingName
    this.#fragment = fragmenterOf(encodingName, SIZES)
  }

  of(unit: AccessUnit): readonly PacketBody[] {
    const known = this.#units.get(unit)
    if (known !== undefined) return known
    const bodies = this.#cut(unit)
    this.#units.set(unit, bodies)
    return bodies
  }

  #cut(unit: AccessUnit): readonly PacketBody[] {
    const packets = unit.packets()
    const payloads = packets.map(checkedPayloadOf)
    const sequences = packets.map(sequenceOf)
    const bodies: PacketBody[] = []
    for (let at = 0; at < payloads.length; ) {
      const { packets: parts, replaced } = this.#fragment(payloads, sequences, at)
      for (const part of parts) bodies.push({ marker: hasMarker(part), payload: bytesOf(checkedPayloadOf(part)) })
      at += Math.max(1, replaced)
    }
    return bodies
  }
}

const packers = new WeakMap<object, UnitPackets>()

/** One for each stream, until its codec changes. */
export const unitPackets = (stream: object, encodingName: string): UnitPackets => {
  const known = packers.get(stream)
  if (known?.encodingName === encodingName) return known
  const created = new UnitPackets(encodingName)
  packers.set(stream, created)
  return created
}
