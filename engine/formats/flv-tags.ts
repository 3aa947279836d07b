import { parseAdtsHeader } from '../codec/audio/aac.ts'
import { parseMpegAudio } from '../codec/audio/mpeg-audio.ts'
import type { Sound } from '../codec/audio/sound-codecs.ts'
import type { DecoderConfig } from '../codec/codecs.ts'
import { type Nal, nalBytes } from '../codec/nal.ts'

/** Tags of FLV (Adobe Flash Video File Format Specification 10.1, annex E.4), as RTMP carries them. */

const [SOUND, VIDEO, SCRIPT] = [8, 9, 18] as const
const TAG_HEADER_BYTES = 11
const [H264_ID, AAC_ID, MP3_ID] = [7, 10, 2] as const
const [CONFIGURATION, DATA] = [0, 1] as const
/** AAC states its rate and channels elsewhere; these are the values for it (annex E.4.2.1). */
const AAC_HEADER = (AAC_ID << 4) | 0x0f

/** `timeMs` wraps at 32 bits. */
const tag = (type: number, timeMs: number, pieces: readonly Uint8Array[]): Buffer => {
  const size = pieces.reduce((sum, { length }) => sum + length, 0)
  const bytes = Buffer.allocUnsafe(TAG_HEADER_BYTES + size + 4)
  bytes.writeUInt8(type)
  bytes.writeUIntBE(size, 1, 3)
  bytes.writeUIntBE(timeMs & 0xffffff, 4, 3)
  bytes.writeUInt8((timeMs >>> 24) & 0xff, 7)
  bytes.writeUIntBE(0, 8, 3)
  let at = TAG_HEADER_BYTES
  for (const piece of pieces) {
    bytes.set(piece, at)
    at += piece.length
  }
  bytes.writeUInt32BE(TAG_HEADER_BYTES + size, at)
  return bytes
}

const videoTag = (
  timeMs: number,
  header: { readonly key: boolean; readonly type: number; readonly laterMs: number },
  pieces: readonly Uint8Array[],
) => {
  const { key, type, laterMs } = header
  return tag(VIDEO, timeMs, [
    Uint8Array.of(((key ? 1 : 2) << 4) | H264_ID, type, (laterMs >> 16) & 0xff, (laterMs >> 8) & 0xff, laterMs & 0xff),
    ...pieces,
  ])
}

const lengthOf = (bytes: number, value: number): Buffer => {
  const buffer = Buffer.alloc(bytes)
  buffer.writeUIntBE(value, 0, bytes)
  return buffer
}

/** An AVCDecoderConfigurationRecord (ISO/IEC 14496-15 section 5.2.4.1); undefined without both kinds of parameter sets. */
export const avcConfiguration = (nals: readonly Nal[]): Buffer | undefined => {
  const [sets, more] = [7, 8].map((type) => nals.filter((nal) => nal.type === type).map(nalBytes)) as [Uint8Array[], Uint8Array[]]
  const [sps] = sets
  if (sps === undefined || sps.length < 4 || more.length === 0) return undefined
  const listed = (all: readonly Uint8Array[]): Uint8Array[] => all.flatMap((set) => [lengthOf(2, set.length), set])
  return Buffer.concat([
    Uint8Array.of(1, sps[1] ?? 0, sps[2] ?? 0, sps[3] ?? 0, 0xff, 0xe0 | sets.length),
    ...listed(sets),
    Uint8Array.of(more.length),
    ...listed(more),
  ])
}

export const avcConfigurationTag = (timeMs: number, configuration: Uint8Array): Buffer =>
  videoTag(timeMs, { key: true, type: CONFIGURATION, laterMs: 0 }, [configuration])

/** Parameter sets and delimiters have no place in a picture. */
const OUTSIDE: ReadonlySet<number> = new Set([7, 8, 9])

/** A picture of H.264, which is shown `laterMs` after the time of its tag. */
export const pictureTag = (
  timeMs: number,
  laterMs: number,
  { key, nals }: { readonly key: boolean; readonly nals: readonly Nal[] },
): Buffer => {
  const inside = nals.filter(({ type }) => !OUTSIDE.has(type))
  const pieces = inside.flatMap((nal) => [
    lengthOf(
      4,
      nal.pieces.reduce((sum, { length }) => sum + length, 0),
    ),
    ...nal.pieces,
  ])
  return videoTag(timeMs, { key, type: DATA, laterMs }, pieces)
}

/** How FLV carries the sound of a stream. */
export interface FlvSound {
  /** SoundFormat. */
  readonly id: number
  /** What comes before the first frame; undefined: nothing. */
  readonly configurationTag: (timeMs: number, frame: Uint8Array) => Buffer | undefined
  readonly tag: (timeMs: number, frame: Uint8Array) => Buffer
}

const AAC: FlvSound = {
  id: AAC_ID,
  configurationTag: (timeMs, frame) => {
    const header = parseAdtsHeader(frame, 0)
    return header && tag(SOUND, timeMs, [Uint8Array.of(AAC_HEADER, CONFIGURATION), Buffer.from(header.config, 'hex')])
  },
  tag: (timeMs, frame) =>
    tag(SOUND, timeMs, [Uint8Array.of(AAC_HEADER, DATA), frame.subarray(parseAdtsHeader(frame, 0)?.headerBytes ?? 0)]),
}

/** SoundRate of MP3; 48 kHz, which it does not have, is in the header of each frame. */
const RATES: Readonly<Record<number, number>> = { 5512: 0, 11025: 1, 22050: 2 }

const MP3: FlvSound = {
  id: MP3_ID,
  configurationTag: () => undefined,
  tag: (timeMs, frame) => {
    const { rate = 44_100, channels = 2 } = parseMpegAudio(frame) ?? {}
    return tag(SOUND, timeMs, [Uint8Array.of((MP3_ID << 4) | ((RATES[rate] ?? 3) << 2) | 2 | (channels - 1)), frame])
  },
}

/** The sound that receivers of FLV decode; undefined for any other. */
export const flvSoundOf = ({ codec }: Pick<Sound, 'codec'>): FlvSound | undefined => ({ aac: AAC, mp3: MP3 })[codec as string]

const NUMBER = 0
const name = (text: string): Buffer => Buffer.concat([lengthOf(2, text.length), Buffer.from(text, 'latin1')])

/** `onMetaData`, an ECMA array of AMF 0 (annex E.5): it says which tracks there are, before they come. */
export const metadataTag = ({ codedWidth, codedHeight }: DecoderConfig, soundId: number | undefined): Buffer => {
  const values = { width: codedWidth, height: codedHeight, videocodecid: H264_ID, ...(soundId !== undefined && { audiocodecid: soundId }) }
  const entries = Object.entries(values).flatMap(([key, value]) => {
    const number = Buffer.alloc(9)
    number.writeUInt8(NUMBER)
    number.writeDoubleBE(value, 1)
    return [name(key), number]
  })
  const head = [Uint8Array.of(2), name('onMetaData'), Uint8Array.of(8), lengthOf(4, Object.keys(values).length)]
  return tag(SCRIPT, 0, [...head, ...entries, Uint8Array.of(0, 0, 9)])
}
