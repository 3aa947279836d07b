/** How MPEG-TS carries a codec of sound. */
export interface SoundCarriage {
  /** stream_type (ISO/IEC 13818-1 table 2-34). */
  readonly streamType: number
  readonly streamId: number
  readonly descriptors: readonly number[]
  /** The frames of a unit as the payload of one PES packet. */
  readonly pack: (frames: readonly Uint8Array[]) => Uint8Array
}

const AUDIO_STREAM_ID = 0xc0
const PRIVATE_STREAM_ID = 0xbd
/** From this rate on it is MPEG-1 audio. */
const MPEG1_RATE = 32_000
/** Registration descriptor with the format Opus, and the extension descriptor with the channels (ETSI TS 103 491 has others; this is what FFmpeg and GStreamer read). */
const opusDescriptors = (channels: number): readonly number[] => [0x05, 4, 0x4f, 0x70, 0x75, 0x73, 0x7f, 2, 0x80, channels]

/** The control header of an Opus packet: its prefix, then its size in bytes of 255. */
const withControlHeader = (packet: Uint8Array): Uint8Array => {
  const sizes = Math.floor(packet.length / 255) + 1
  const bytes = new Uint8Array(2 + sizes + packet.length).fill(0xff, 2, 2 + sizes)
  bytes.set([0x7f, 0xe0])
  bytes[1 + sizes] = packet.length % 255
  bytes.set(packet, 2 + sizes)
  return bytes
}

const concat = (frames: readonly Uint8Array[]): Uint8Array => (frames.length === 1 && frames[0] ? frames[0] : Buffer.concat(frames))

const mpegAudio = (rate: number): SoundCarriage => ({
  streamType: rate >= MPEG1_RATE ? 0x03 : 0x04,
  streamId: AUDIO_STREAM_ID,
  descriptors: [],
  pack: concat,
})

/** Undefined for a codec that MPEG-TS does not carry. AAC comes in ADTS. */
export const soundCarriage = (sound: {
  readonly codec: string
  readonly rate: number
  readonly channels: number
}): SoundCarriage | undefined => {
  const { codec, rate, channels } = sound
  if (codec === 'aac') return { streamType: 0x0f, streamId: AUDIO_STREAM_ID, descriptors: [], pack: concat }
  if (codec === 'mp2' || codec === 'mp3') return mpegAudio(rate)
  if (codec !== 'opus' || channels > 2) return undefined
  const descriptors = opusDescriptors(channels)
  return { streamType: 0x06, streamId: PRIVATE_STREAM_ID, descriptors, pack: (packets) => concat(packets.map(withControlHeader)) }
}
