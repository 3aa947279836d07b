import {
  BufferSource,
  BufferTarget,
  EncodedAudioPacketSource,
  EncodedPacket,
  EncodedPacketSink,
  EncodedVideoPacketSource,
  Input,
  type InputAudioTrack,
  type InputVideoTrack,
  MPEG_TS,
  Mp4OutputFormat,
  Output,
} from 'mediabunny'
import { opusChannels } from '../../../codec/audio/opus.ts'
import { findBoxes } from './boxes.ts'
import { SampleReader, TICKS_PER_SECOND } from './samples.ts'

export interface MovieHeader {
  /** `ftyp` and `moov` of a movie in fragments: track 1 has the pictures, track 2 the sound. */
  readonly bytes: Buffer
  /** Samples of the sound a second; undefined without a sound that MP4 carries. */
  readonly soundRate: number | undefined
}

const VERSION_AND_FLAGS = 4
const HEAD = 8

/** The header of a movie with the codecs of this MPEG-TS, the same for the same bytes. Undefined where there are no pictures. */
export const movieHeader = async (transport: Buffer, durationSeconds: number): Promise<MovieHeader | undefined> => {
  const input = new Input({ formats: [MPEG_TS], source: new BufferSource(transport) })
  try {
    const [video, audio] = await Promise.all([input.getPrimaryVideoTrack(), input.getPrimaryAudioTrack()])
    if (video?.codec == null) return undefined
    const target = new BufferTarget()
    const output = new Output({ format: new Mp4OutputFormat({ fastStart: 'fragmented' }), target })
    const pictures = new EncodedVideoPacketSource(video.codec)
    output.addVideoTrack(pictures)
    const sound = audio === null ? opusOf(transport) : await soundOf(audio)
    if (sound !== undefined) output.addAudioTrack(sound.source)
    await output.start()
    await pictures.add(await firstPacket(video), { decoderConfig: await configOf(video) })
    await sound?.source.add(sound.packet, { decoderConfig: sound.decoderConfig })
    await output.finalize()
    const movie = Buffer.from(target.buffer ?? new ArrayBuffer(0))
    const bytes = movie.subarray(0, findBoxes(movie, 'moof')[0] ?? movie.length)
    return { bytes, soundRate: settled(bytes, durationSeconds)[1] }
  } finally {
    input.dispose()
  }
}

/** At time 0, whenever it was. */
const firstPacket = async (track: InputVideoTrack | InputAudioTrack): Promise<EncodedPacket> => {
  const packet = await new EncodedPacketSink(track).getFirstPacket()
  if (packet === null) throw new Error('a track of the recording has no packet')
  return packet.clone({ timestamp: 0 })
}

const configOf = async <Config>(track: { getDecoderConfig(): Promise<Config | null> }): Promise<Config> => {
  const config = await track.getDecoderConfig()
  if (config === null) throw new Error('the codec of a track of the recording is not known')
  return config
}

/** MP2 has no place in a file for browsers. */
const soundOf = async (audio: InputAudioTrack) => {
  const { codec } = audio
  if (codec !== 'aac' && codec !== 'mp3') return undefined
  return { source: new EncodedAudioPacketSource(codec), packet: await firstPacket(audio), decoderConfig: await configOf(audio) }
}

const OPUS_RATE = 48_000

/** Opus, which mediabunny does not find in MPEG-TS. */
const opusOf = (transport: Buffer) => {
  let first: Buffer | undefined
  const reader = new SampleReader(OPUS_RATE, ({ isPicture, bytes }) => {
    if (!isPicture) first ??= bytes
  })
  reader.push(transport)
  if (first === undefined || !reader.names.includes('opus')) return undefined
  const decoderConfig = { codec: 'opus', sampleRate: OPUS_RATE, numberOfChannels: opusChannels(first) }
  return { source: new EncodedAudioPacketSource('opus'), packet: new EncodedPacket(first, 'key', 0, 0.02), decoderConfig }
}

/** Sets what would depend on the time of the request, the duration, and the clock of the pictures. Answers the clocks of the tracks. */
const settled = (bytes: Buffer, durationSeconds: number): readonly number[] => {
  for (const type of ['mvhd', 'tkhd', 'mdhd'])
    for (const at of findBoxes(bytes, type))
      bytes.fill(0, at + HEAD + VERSION_AND_FLAGS, at + HEAD + VERSION_AND_FLAGS + 2 * wordOf(bytes, at))
  for (const at of findBoxes(bytes, 'mvhd')) {
    const clock = clockAt(bytes, at)
    const duration = Math.round(durationSeconds * bytes.readUInt32BE(clock))
    if (wordOf(bytes, at) === 4) bytes.writeUInt32BE(Math.min(duration, 0xffff_fffe), clock + 4)
    else bytes.writeBigUInt64BE(BigInt(duration), clock + 4)
  }
  const clocks = findBoxes(bytes, 'mdhd').map((at) => clockAt(bytes, at))
  if (clocks[0] !== undefined) bytes.writeUInt32BE(TICKS_PER_SECOND, clocks[0])
  return clocks.map((at) => bytes.readUInt32BE(at))
}

/** Version 1 has times of 64 bits. */
const wordOf = (bytes: Buffer, at: number): 4 | 8 => (bytes[at + HEAD] === 1 ? 8 : 4)

/** Where the timescale of `mvhd` and `mdhd` is: after the times of creation and change. */
const clockAt = (bytes: Buffer, at: number): number => at + HEAD + VERSION_AND_FLAGS + 2 * wordOf(bytes, at)
