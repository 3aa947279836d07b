import { type AacConfig, parseAacConfig, parseLatmConfig, withAdts } from './aac.ts'
import { depacketizeGeneric, depacketizeLatm, depacketizeMpa, wholePayloads } from './depacketize-sound.ts'
import { parseMpegAudio } from './mpeg-audio.ts'
import { opusChannels, opusSamples } from './opus.ts'

/** The caps of sound in RTP. */
interface SoundCaps {
  readonly encodingName: string
  readonly clockRate: number
  readonly parameters: ReadonlyMap<string, string>
}

/** A W3C AudioDecoderConfig (WebCodecs) without `description`: AAC is in ADTS. */
export interface SoundConfig {
  readonly codec: string
  /** Hz */
  readonly sampleRate: number
  readonly numberOfChannels: number
}

/** Sound as the outputs take it. */
export interface Sound {
  readonly codec: 'aac' | 'opus' | 'pcmu' | 'pcma' | 'l16' | 'mp2' | 'mp3'
  /** Hz */
  readonly rate: number
  readonly channels: number
  /** For decoders of browsers; undefined when they have none. */
  readonly config: SoundConfig | undefined
  /** The frames of a unit, AAC in ADTS, in the byte order of decoders. */
  readonly frames: (payloads: readonly Uint8Array[]) => readonly Uint8Array[]
  /** How long a frame lasts, milliseconds. */
  readonly frameMs: (frame: Uint8Array) => number
}

const aac = (config: AacConfig | undefined, depacketize: (payloads: readonly Uint8Array[]) => readonly Uint8Array[]): Sound | undefined => {
  if (config === undefined || withAdts(new Uint8Array(), config) === undefined) return undefined
  const { rate, channels, objectType, frameSamples } = config
  return {
    codec: 'aac',
    rate,
    channels,
    config: { codec: `mp4a.40.${objectType}`, sampleRate: rate, numberOfChannels: channels },
    frames: (payloads) => depacketize(payloads).flatMap((frame) => withAdts(frame, config) ?? []),
    frameMs: () => (frameSamples * 1000) / rate,
  }
}

/** Samples of `bytesPerSample` in every channel. */
const pcm = (codec: 'pcmu' | 'pcma' | 'l16', name: string, bytesPerSample: number, { clockRate, parameters }: SoundCaps): Sound => {
  const channels = Number(parameters.get('encoding-params') ?? 1) || 1
  return {
    codec,
    rate: clockRate,
    channels,
    config: { codec: name, sampleRate: clockRate, numberOfChannels: channels },
    frames: bytesPerSample === 1 ? wholePayloads : (payloads) => wholePayloads(payloads).map(littleEndian),
    frameMs: ({ length }) => (length * 1000) / (bytesPerSample * channels * clockRate),
  }
}

/** RTP has samples in network byte order (RFC 3551 section 4.5.11). */
const littleEndian = (samples: Uint8Array): Uint8Array => Buffer.from(samples.subarray(0, samples.length & ~1)).swap16()

const hexadecimal = (text: string | undefined): Uint8Array => Buffer.from(text ?? '', 'hex')

/** By the encoding name of RTP. `first`: the payloads of the first unit, for what only the data says; left out before. */
const CODECS: Readonly<Record<string, (caps: SoundCaps, first?: readonly Uint8Array[]) => Sound | undefined>> = {
  'MPEG4-GENERIC': ({ parameters }) =>
    aac(parseAacConfig(hexadecimal(parameters.get('config'))), (payloads) => depacketizeGeneric(payloads, parameters)),
  'MP4A-LATM': ({ parameters }) =>
    parameters.get('cpresent') === '0' ? aac(parseLatmConfig(hexadecimal(parameters.get('config'))), depacketizeLatm) : undefined,
  OPUS: ({ parameters }, first) => {
    const [packet] = first ?? []
    const channels = packet === undefined ? (parameters.get('sprop-stereo') === '0' ? 1 : 2) : opusChannels(packet)
    return {
      codec: 'opus',
      rate: 48_000,
      channels,
      config: { codec: 'opus', sampleRate: 48_000, numberOfChannels: channels },
      frames: wholePayloads,
      frameMs: (frame) => opusSamples(frame) / 48,
    }
  },
  PCMU: (caps) => pcm('pcmu', 'ulaw', 1, caps),
  PCMA: (caps) => pcm('pcma', 'alaw', 1, caps),
  L16: (caps) => pcm('l16', 'pcm-s16', 2, caps),
  MPA: (_caps, first = []) => {
    const [frame] = depacketizeMpa(first)
    const header = frame && parseMpegAudio(frame)
    if (header === undefined || header.layer === 1) return undefined
    const { layer, rate, channels, samples } = header
    return {
      codec: layer === 3 ? 'mp3' : 'mp2',
      rate,
      channels,
      config: layer === 3 ? { codec: 'mp3', sampleRate: rate, numberOfChannels: channels } : undefined,
      frames: depacketizeMpa,
      frameMs: () => (samples * 1000) / rate,
    }
  },
}

/** Whether sound of this encoding name of RTP is carried as it is. */
export const isCarriedSound = (encodingName: string): boolean => Object.hasOwn(CODECS, encodingName)

/** What is known of sound by its caps, and by the payloads of its first unit; undefined when the outputs cannot read it, or not yet. */
export const soundOf = (caps: SoundCaps, first?: readonly Uint8Array[]): Sound | undefined =>
  Object.hasOwn(CODECS, caps.encodingName) ? CODECS[caps.encodingName]?.(caps, first) : undefined
