import { parseMpegAudio } from '../../../codec/audio/mpeg-audio.ts'
import { opusSamples } from '../../../codec/audio/opus.ts'
import { PacketReader, pesTimeOffsets, readTime } from '../../../mpegts/packet-reader.ts'
import { PACKET_BYTES } from '../../../mpegts/ts-muxer.ts'

export const TICKS_PER_SECOND = 90_000

/** A picture or a frame of sound as MP4 has it. Times are ticks of 90 kHz, those of pictures modulo 2^33. */
export interface Sample {
  readonly isPicture: boolean
  readonly key: boolean
  readonly pts: number
  readonly dts: number
  /** After `pts`, of the frames of one PES packet. */
  readonly later: number
  readonly bytes: Buffer
}

interface Pes {
  readonly isPicture: boolean
  readonly key: boolean
  readonly pts: number
  readonly dts: number
  readonly pieces: Buffer[]
}

const STARTS = 0x4000
const HAS_PAYLOAD = 0x10
const HAS_ADAPTATION = 0x20
const RANDOM_ACCESS = 0x40
const SOUND: ReadonlySet<string> = new Set(['aac', 'mpeg-audio', 'opus'])

/** Takes pictures and sound out of our own MPEG-TS, packet by packet. `onSample` gets them in the order in which they end. */
export class SampleReader {
  readonly #tables = new PacketReader()
  readonly #open = new Map<number, Pes>()
  readonly #rate: number | undefined
  readonly #onSample: (sample: Sample) => void

  /** `rate`: samples of the sound a second; undefined: no sound. */
  constructor(rate: number | undefined, onSample: (sample: Sample) => void) {
    this.#rate = rate
    this.#onSample = onSample
  }

  get names(): readonly string[] {
    return this.#tables.tracks.map(({ name }) => name)
  }

  get hasSound(): boolean {
    return this.names.some((name) => SOUND.has(name))
  }

  /** Whole packets. The bytes are kept until their sample has ended. */
  push(packets: Buffer): void {
    this.#tables.read(packets, () => {})
    const pids = new Map(this.#tables.tracks.map(({ pid, name, isVideo }) => [pid, { isVideo, isSound: SOUND.has(name) }]))
    for (let at = 0; at + PACKET_BYTES <= packets.length; at += PACKET_BYTES) {
      const header = packets.readUInt16BE(at + 1)
      const track = pids.get(header & 0x1fff)
      const flags = packets[at + 3] ?? 0
      if (track === undefined || (flags & HAS_PAYLOAD) === 0 || !(track.isVideo || (track.isSound && this.#rate !== undefined))) continue
      const payload = at + 4 + ((flags & HAS_ADAPTATION) === 0 ? 0 : 1 + (packets[at + 4] ?? 0))
      const pid = header & 0x1fff
      if ((header & STARTS) === 0) this.#open.get(pid)?.pieces.push(packets.subarray(payload, at + PACKET_BYTES))
      else this.#begin(pid, track.isVideo, packets.subarray(at, at + PACKET_BYTES), payload - at)
    }
  }

  end(): void {
    for (const pid of [...this.#open.keys()]) this.#finish(pid)
  }

  #begin(pid: number, isPicture: boolean, packet: Buffer, payload: number): void {
    this.#finish(pid)
    const [pts, dts] = pesTimeOffsets(packet, payload, PACKET_BYTES)
    if (pts < 0) return
    const shown = readTime(packet, pts)
    const key = payload > 5 && ((packet[5] ?? 0) & RANDOM_ACCESS) !== 0
    const pieces = [packet.subarray(payload + 9 + (packet[payload + 8] ?? 0))]
    this.#open.set(pid, { isPicture, key, pts: shown, dts: dts < 0 ? shown : readTime(packet, dts), pieces })
  }

  #finish(pid: number): void {
    const pes = this.#open.get(pid)
    this.#open.delete(pid)
    if (pes === undefined) return
    const { pieces, ...facts } = pes
    const bytes = Buffer.concat(pieces)
    if (pes.isPicture) {
      this.#onSample({ ...facts, later: 0, bytes: withLengths(bytes) })
      return
    }
    let samples = 0
    for (const frame of soundFrames(bytes)) {
      this.#onSample({ ...facts, key: true, later: (samples * TICKS_PER_SECOND) / (this.#rate ?? 1), bytes: frame.bytes })
      samples += frame.samples
    }
  }
}

const AUD_H264 = 9
const AUD_H265 = 35 << 1

/** The NAL units with their lengths in place of the start codes, without the delimiter: the same number of bytes, or fewer. */
const withLengths = (bytes: Buffer): Buffer => {
  let begin = startCode(bytes, 0)
  const first = (bytes[begin + 4] ?? 0) & 0x7f
  const isDelimiter = (first & 0x1f) === AUD_H264 || first === AUD_H265
  const from = isDelimiter ? startCode(bytes, begin + 4) : begin
  for (begin = from; begin < bytes.length; ) {
    const next = startCode(bytes, begin + 4)
    bytes.writeUInt32BE(next - begin - 4, begin)
    begin = next
  }
  return bytes.subarray(from)
}

const START_CODE = Buffer.from([0, 0, 0, 1])

const startCode = (bytes: Buffer, from: number): number => {
  const found = bytes.indexOf(START_CODE, from)
  return found < 0 ? bytes.length : found
}

interface SoundFrame {
  readonly bytes: Buffer
  readonly samples: number
}

const AAC_SAMPLES = 1024

/** The frames of ADTS without their headers (ISO/IEC 13818-7 section 6.2), packets of Opus without theirs, or frames of MPEG audio. */
function* soundFrames(bytes: Buffer): Generator<SoundFrame> {
  if (bytes[0] === OPUS_PREFIX) {
    yield* opusPackets(bytes)
    return
  }
  for (let at = 0; at + 7 <= bytes.length; ) {
    const isAdts = bytes[at] === 0xff && ((bytes[at + 1] ?? 0) & 0xf6) === 0xf0
    const length = isAdts ? (bytes.readUIntBE(at + 3, 3) >> 5) & 0x1fff : mpegAudioBytes(bytes.subarray(at))
    const header = !isAdts ? 0 : ((bytes[at + 1] ?? 0) & 1) === 1 ? 7 : 9
    if (length <= header || at + length > bytes.length) return
    const samples = isAdts ? AAC_SAMPLES : mpegAudioSamples(bytes.subarray(at))
    yield { bytes: bytes.subarray(at + header, at + length), samples }
    at += length
  }
}

const OPUS_PREFIX = 0x7f

/** Each after a control header: its prefix, then its size in bytes of 255. */
function* opusPackets(bytes: Buffer): Generator<SoundFrame> {
  for (let at = 0; bytes[at] === OPUS_PREFIX; ) {
    let size = 0
    for (at += 2; bytes[at] === 255; at += 1) size += 255
    size += bytes[at] ?? 0
    const packet = bytes.subarray(at + 1, at + 1 + size)
    if (size === 0 || packet.length < size) return
    yield { bytes: packet, samples: opusSamples(packet) }
    at += 1 + size
  }
}

/** kbit/s by index, of layer III: MPEG-1, and MPEG-2 (ISO/IEC 11172-3 section 2.4.2.3, 13818-3 section 2.4.2.3). */
const BITRATES = [
  [0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320],
  [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160],
] as const

const mpegAudioSamples = (bytes: Buffer): number => (parseMpegAudio(bytes)?.isMpeg1 === true ? 1152 : 576)

const mpegAudioBytes = (bytes: Buffer): number => {
  const header = parseMpegAudio(bytes)
  const bitrate = BITRATES[header?.isMpeg1 === true ? 0 : 1][((bytes[2] ?? 0) >> 4) as 0]
  if (header?.layer !== 3 || bitrate === undefined) return 0
  return Math.floor((mpegAudioSamples(bytes) * 125 * bitrate) / header.rate) + (((bytes[2] ?? 0) >> 1) & 1)
}
