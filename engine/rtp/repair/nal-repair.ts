import { bytesOf, hasMarker, type Payload, sequenceOf } from '../packet/packet.ts'
import { aggregated, firstType, firstTypeOf, NAL_FORMATS, type NalCodec, type NalFormat } from './nal-units.ts'
import { ParameterSets } from './parameter-sets.ts'
import { RepairedPackets } from './repaired-packets.ts'
import { withoutStartCodes } from './start-codes.ts'

/** The packets of an access unit that readers get, before they are fragmented. */
export interface RepairedUnit {
  readonly packets: readonly Buffer[]
  /** The sequence number of each packet in the series of its source, moved by the packets added or left out before it. */
  readonly sequences: readonly number[]
  /** A decoder can start here. */
  readonly key: boolean
}

/** The packets of a unit that needs no repair. */
export const asReceived = (payloads: readonly Payload[], key: boolean): RepairedUnit => {
  const packets = payloads.map(({ packet }) => packet)
  return { packets, sequences: packets.map(sequenceOf), key }
}

/** A unit with more NAL units than this, beside fragments, is left as it is: no encoder makes that many. */
const MAX_NALS = 16_384

/** A packet of a unit under repair. */
interface Part {
  readonly sequence: number
  readonly marker: boolean
  /** As received, unless it has to change. */
  readonly packet: Buffer | undefined
  /** Its NAL units, or one fragment. */
  readonly nals: readonly Buffer[]
}

/**
 * Does for H.264 and H.265 packets of another payloader what the parsers and payloaders of our launch lines do: puts the parameter sets
 * before the slices of every key frame, once, so that a reader can start at any of them.
 */
export class NalRepair {
  readonly #format: NalFormat
  readonly #sets: ParameterSets
  readonly #maxPacketBytes: number
  #shift = 0
  /** RTP timestamp of the picture whose first slices came as a key frame. */
  #keyTimestamp: number | undefined

  /** `parameters`: those of the caps. Aggregation packets that are larger than `maxPacketBytes` are split: they cannot be fragmented. */
  constructor(
    codec: NalCodec,
    { parameters, maxPacketBytes }: { readonly parameters: ReadonlyMap<string, string>; readonly maxPacketBytes: number },
  ) {
    this.#format = NAL_FORMATS[codec]
    this.#sets = new ParameterSets(codec, parameters)
    this.#maxPacketBytes = maxPacketBytes
  }

  /** The parameter sets in the stream as parameters of caps, once they differ from those of the caps; undefined otherwise. */
  newParameters(): ReadonlyMap<string, string> | undefined {
    return this.#sets.newParameters()
  }

  /** Takes the units of one run in order. Never throws: packets that cannot be parsed stay as they are. */
  repair(payloads: readonly Payload[], timestamp: number, key: boolean): RepairedUnit {
    const separated = withoutStartCodes(this.#format, payloads)
    if (separated === undefined) return this.#repair(payloads, timestamp, key)
    const { isRandomAccess, typeOf } = this.#format
    const isKey = key || separated.payloads.some(({ packet, start }) => isRandomAccess(typeOf(packet[start] ?? 0)))
    const repaired = this.#repair(separated.payloads, timestamp, isKey)
    this.#shift += separated.added
    return repaired
  }

  #repair(payloads: readonly Payload[], timestamp: number, key: boolean): RepairedUnit {
    // Some cameras set the marker on every slice: a decoder cannot start at the second slice of a key frame.
    const starts = key && timestamp !== this.#keyTimestamp
    if (key) this.#keyTimestamp = timestamp
    else if (timestamp !== this.#keyTimestamp) this.#keyTimestamp = undefined
    const { before, repeated, oversized, nals } = this.#inspect(payloads)
    if (nals > MAX_NALS) return this.#unchanged(payloads, starts)
    const missing = starts ? this.#missing(before) : []
    if (missing.length === 0 && !repeated && !oversized) return this.#unchanged(payloads, starts)
    const apart = missing.length > 0 || repeated
    const parts = payloads.map((payload) => this.#part(payload, apart))
    return { ...this.#rebuild(parts, missing), key: starts }
  }

  /** The types of the parameter sets before the first slice, whether there are some after it, whether an aggregate is too large, and how many NAL units there are. */
  #inspect(payloads: readonly Payload[]) {
    const format = this.#format
    const before = new Set<number>()
    let [slices, repeated, oversized] = [false, false, false]
    let nals = 0
    for (const payload of payloads) {
      const type = firstTypeOf(format, payload)
      if (type === undefined) continue
      const isAggregate = type === format.aggregation
      oversized ||= isAggregate && payload.packet.length > this.#maxPacketBytes
      const bytes = bytesOf(payload)
      for (const nal of isAggregate ? (aggregated(format, bytes) ?? []) : [bytes]) {
        if (++nals > MAX_NALS) return { before, repeated, oversized, nals }
        const inner = isAggregate ? format.typeOf(nal[0] ?? 0) : type
        if (format.isSlice(inner)) slices = true
        if (!format.parameterSets.has(inner)) continue
        this.#sets.learn(nal)
        if (slices) repeated = true
        else before.add(inner)
      }
    }
    return { before, repeated, oversized, nals }
  }

  #missing(present: ReadonlySet<number>): readonly Buffer[] {
    return [...this.#format.parameterSets.keys()].flatMap((type) => (present.has(type) ? [] : this.#sets.ofType(type)))
  }

  #unchanged(payloads: readonly Payload[], key: boolean): RepairedUnit {
    const sequences = payloads.map(({ packet }) => (sequenceOf(packet) + this.#shift) & 0xffff)
    return { packets: payloads.map(({ packet }) => packet), sequences, key }
  }

  #rebuild(parts: readonly Part[], missing: readonly Buffer[]): Pick<RepairedUnit, 'packets' | 'sequences'> {
    const out = new RepairedPackets(this.#shift)
    let inserted = missing.length === 0
    let slices = false
    for (const { sequence, packet, nals } of parts) {
      out.begin(sequence)
      for (const nal of nals) {
        const type = firstType(this.#format, nal)
        if (type !== undefined && this.#format.isSlice(type)) slices = true
        if (slices && type !== undefined && this.#format.parameterSets.has(type)) continue
        if (!inserted && type !== this.#format.delimiter) {
          for (const set of missing) out.add(set)
          inserted = true
        }
        if (packet !== undefined) out.keep(packet)
        else out.add(nal)
      }
    }
    out.end(parts.at(-1)?.marker ?? false)
    this.#shift = out.shift
    return { packets: out.packets, sequences: out.sequences }
  }

  /** `apart`: an aggregation packet as its NAL units, also when it is small enough. */
  #part({ packet, start, end }: Payload, apart: boolean): Part {
    const format = this.#format
    const payload = packet.subarray(start, end)
    const [sequence, marker] = [sequenceOf(packet), hasMarker(packet)]
    const isAggregate = format.typeOf(payload[0] ?? 0) === format.aggregation
    const nals = isAggregate && (apart || packet.length > this.#maxPacketBytes) ? aggregated(format, payload) : undefined
    return nals === undefined || nals.length === 0
      ? { sequence, marker, packet, nals: [payload] }
      : { sequence, marker, packet: undefined, nals }
  }
}
