import { NAL_FORMATS, type NalCodec, wholeNals } from './nal-units.ts'

/** Tests the first bytes: those of a sequence parameter set begin no NAL unit of the other codec (ITU-T H.264 table 7-1, H.265 section 7.3.1.2). */
const isSps: Readonly<Record<NalCodec, (payload: Buffer) => boolean>> = {
  H264: (payload) => ((payload[0] ?? 0) & 0x9f) === 7,
  H265: (payload) => payload[0] === 33 << 1 && payload[1] === 1,
}

/** A codec and its parameter sets, as the fields of caps carry them. */
interface InBandFormat {
  readonly codec: NalCodec
  readonly parameters: ReadonlyMap<string, string>
}

/** The format of H.264 or H.265 by the parameter sets among RTP payloads, each in a packet of its own; undefined without them. */
export const inBandFormat = (payloads: readonly Buffer[]): InBandFormat | undefined => {
  const codec = (['H264', 'H265'] as const).find((name) => payloads.some(isSps[name]))
  if (codec === undefined) return undefined
  const { typeOf, parameterSets } = NAL_FORMATS[codec]
  const parameters = new Map<string, string>()
  for (const payload of payloads) {
    const field = parameterSets.get(typeOf(payload[0] ?? 0))
    const text = payload.toString('base64')
    const before = field === undefined ? undefined : parameters.get(field)
    if (field !== undefined && !before?.split(',').includes(text)) parameters.set(field, before === undefined ? text : `${before},${text}`)
  }
  return { codec, parameters }
}

/** The codec that a source has changed to: its payload has a sequence parameter set of the other one. */
export const otherCodec = (codec: NalCodec, payload: Buffer): NalCodec | undefined => {
  const other = codec === 'H264' ? 'H265' : 'H264'
  return wholeNals(NAL_FORMATS[other], payload).some(isSps[other]) ? other : undefined
}
