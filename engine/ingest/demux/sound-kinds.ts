import type { ElementaryStream } from '../../mpegts/psi.ts'
import { AdtsReader } from './adts-reader.ts'
import { MpegAudioReader } from './mpeg-audio-reader.ts'
import { OpusReader } from './opus-reader.ts'
import type { SoundReader } from './sound-packets.ts'

interface SoundKind {
  readonly codec: string
  /** Undefined for a codec that is not carried as it is. */
  readonly reader?: () => SoundReader
}

const PRIVATE = 0x06
const fourCharacters = (text: string): number => Buffer.from(text, 'latin1').readUInt32BE()
const OPUS = fourCharacters('Opus')

const mpegAudio: SoundKind = { codec: 'mp2', reader: () => new MpegAudioReader() }

/** By stream_type (ISO/IEC 13818-1 table 2-34); from 0x80 on as ATSC and Blu-ray use them. */
const BY_TYPE: ReadonlyMap<number, SoundKind> = new Map([
  [0x03, mpegAudio],
  [0x04, mpegAudio],
  [0x0f, { codec: 'aac', reader: () => new AdtsReader() }],
  [0x11, { codec: 'latm' }],
  [0x81, { codec: 'ac3' }],
  [0x82, { codec: 'dts' }],
  [0x87, { codec: 'eac3' }],
])

/** Private data, by the format that is registered. */
const BY_FORMAT: ReadonlyMap<number, SoundKind> = new Map([
  [OPUS, { codec: 'opus', reader: () => new OpusReader() }],
  [fourCharacters('AC-3'), { codec: 'ac3' }],
  [fourCharacters('EAC3'), { codec: 'eac3' }],
])

/** What sound a stream carries; undefined when it carries none that is known. */
export const soundKindOf = ({ type, formats }: ElementaryStream): SoundKind | undefined =>
  type === PRIVATE ? formats.map((format) => BY_FORMAT.get(format)).find((kind) => kind !== undefined) : BY_TYPE.get(type)
