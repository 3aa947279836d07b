import { aggregatedUnits } from '../../codec/aggregation.ts'
import { FRAGMENT_START, RTP_LAYOUTS, type RtpLayout } from '../../codec/rtp-layout.ts'
import type { Payload } from '../packet/packet.ts'

/** NAL units of H.264 and H.265, and how they are put into RTP packets. */
export interface NalFormat extends RtpLayout {
  readonly isSlice: (type: number) => boolean
  /** A packet can carry this type whole or in fragments. Decoders ignore the others, and RTP gives them other meanings. */
  readonly isCarried: (type: number) => boolean
  /** Units before the slices, to which some cameras append the following ones; 0 is the first byte of a start code. */
  readonly maySpillOver: (type: number) => boolean
  /** A picture that a decoder can start at. */
  readonly isRandomAccess: (type: number) => boolean
  readonly delimiter: number
  /** Their types, in the order in which a decoder needs them, and the parameter of the caps that carries them. */
  readonly parameterSets: ReadonlyMap<number, string>
}

const H264_SETS = 'sprop-parameter-sets'

export const NAL_FORMATS = {
  H264: {
    ...RTP_LAYOUTS.H264,
    isSlice: (type) => type >= 1 && type <= 5,
    isCarried: (type) => type >= 1 && type < RTP_LAYOUTS.H264.aggregation,
    isRandomAccess: (type) => type === 5,
    maySpillOver: (type) => type === 0 || (type >= 6 && type <= 9),
    delimiter: 9,
    parameterSets: new Map([
      [7, H264_SETS],
      [8, H264_SETS],
    ]),
  },
  H265: {
    ...RTP_LAYOUTS.H265,
    isSlice: (type) => type < 32,
    isCarried: (type) => type < RTP_LAYOUTS.H265.aggregation,
    isRandomAccess: (type) => type >= 16 && type <= 21,
    maySpillOver: (type) => type >= 32 && type <= 39,
    delimiter: 35,
    parameterSets: new Map([
      [32, 'sprop-vps'],
      [33, 'sprop-sps'],
      [34, 'sprop-pps'],
    ]),
  },
} as const satisfies Record<string, NalFormat>

export type NalCodec = keyof typeof NAL_FORMATS

export const isNalCodec = (encodingName: string): encodingName is NalCodec => Object.hasOwn(NAL_FORMATS, encodingName)

/** The NAL units that are whole in a payload. */
export const wholeNals = (format: NalFormat, payload: Buffer): readonly Buffer[] => {
  const type = format.typeOf(payload[0] ?? 0)
  if (type === format.aggregation) return aggregated(format, payload) ?? []
  return type < format.aggregation ? [payload] : []
}

/** The payload after `change` has replaced NAL units that are whole in it; undefined when it replaces none. */
export const replaceNals = (format: NalFormat, payload: Buffer, change: (nal: Buffer) => Buffer | undefined): Buffer | undefined => {
  const nals = wholeNals(format, payload)
  const changed = nals.map(change)
  if (changed.every((nal) => nal === undefined)) return undefined
  if (format.typeOf(payload[0] ?? 0) !== format.aggregation) return changed[0]
  const sized = nals.map((nal, at) => changed[at] ?? nal).flatMap((nal) => [Buffer.of(nal.length >> 8, nal.length & 0xff), nal])
  return Buffer.concat([payload.subarray(0, format.headerBytes), ...sized])
}

/** The type of the NAL unit that begins in the payload; undefined for a fragment other than the first. */
export const firstTypeOf = (format: NalFormat, { packet, start, end }: Payload): number | undefined => {
  const type = format.typeOf(start < end ? (packet[start] ?? 0) : 0)
  if (type !== format.fragment) return type
  const at = start + format.headerBytes
  const header = at < end ? (packet[at] ?? 0) : 0
  return (header & FRAGMENT_START) === 0 ? undefined : header & format.fragmentType
}

export const firstType = (format: NalFormat, payload: Buffer): number | undefined =>
  firstTypeOf(format, { packet: payload, start: 0, end: payload.length })

/** The NAL units of an aggregation packet; undefined when the sizes contradict its length, or one has no body. */
export const aggregated = ({ headerBytes }: NalFormat, payload: Buffer): readonly Buffer[] | undefined => {
  const { units, isWhole } = aggregatedUnits(payload.subarray(headerBytes))
  return isWhole && units.every((unit) => unit.length > headerBytes) ? units : undefined
}
