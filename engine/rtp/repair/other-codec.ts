import { NAL_FORMATS, type NalCodec, wholeNals } from './nal-units.ts'

/** Tests the first bytes: those of a sequence parameter set begin no NAL unit of the other codec (ITU-T H.264 table 7-1, H.265 section 7.3.1.2). */
const isSps: Readonly<Record<NalCodec, (payload: Buffer) => boolean>> = {
  H264: (payload) => ((payload[0] ?? 0) & 0x9f) === 7,
  H265: (payload) => payload[0] === 33 << 1 && payload[1] === 1,
}

/** The codec that a source has changed to: its payload has a sequence parameter set of the other one. */
export const otherCodec = (codec: NalCodec, payload: Buffer): NalCodec | undefined => {
  const other = codec === 'H264' ? 'H265' : 'H264'
  return wholeNals(NAL_FORMATS[other], payload).some(isSps[other]) ? other : undefined
}
