import { NAL_FORMATS, type NalCodec } from '../../rtp/repair/nal-units.ts'
import type { RtpStream } from '../../rtp/stream.ts'
import { RtpPackets } from '../demux/rtp-packets.ts'
import { VIDEO_PAYLOAD, videoCaps } from '../demux/video-caps.ts'

const TICKS_PER_MS = 90
/** Of the first byte: the header is that of Enhanced RTMP (version 1, section "Enhancing onMetaData and video"). */
const ENHANCED = 0x80
const COMMAND = 5
const SEQUENCE_HEADER = 0
const PICTURE = 1
/** A picture without a composition time. */
const PICTURE_X = 3
/** CodecID of annex E.4.3.1; 12 is the usual extension for H.265. */
const BY_ID: Readonly<Record<number, NalCodec>> = { 7: 'H264', 12: 'H265' }
const BY_NAME: Readonly<Record<string, NalCodec>> = { avc1: 'H264', hvc1: 'H265' }
const MAX_NALS = 4096

interface Body {
  readonly codec: NalCodec
  readonly type: number
  /** Composition time, milliseconds. */
  readonly later: number
  readonly data: Buffer
}

/** A decoder configuration record (ISO/IEC 14496-15 sections 5.3.3.1 and 8.3.3.1). */
interface DecoderRecord {
  readonly lengthBytes: number
  readonly sets: ReadonlyMap<string, string>
}

/** Puts the video of FLV into RTP. */
export class FlvVideo {
  readonly #stream: RtpStream
  readonly #packets: RtpPackets
  #codec: NalCodec | undefined
  #lengthBytes = 4

  constructor(stream: RtpStream) {
    this.#stream = stream
    this.#packets = new RtpPackets(stream)
  }

  /** Takes the data of a video tag, and its running time. Returns false for a codec other than H.264 and H.265. */
  take(data: Buffer, ticks: number): boolean {
    const body = bodyOf(data)
    if (body === undefined) return (data[0] ?? 0) >> 4 === COMMAND || data.length < 5
    if (body.type === SEQUENCE_HEADER) this.#begin(body)
    else if ((body.type === PICTURE || body.type === PICTURE_X) && body.codec === this.#codec) {
      const nals = nalsOf(body.data, this.#lengthBytes).filter(([first = 0]) => isSent(body.codec, first))
      this.#packets.send(nals, { type: VIDEO_PAYLOAD, ticks: ticks + body.later * TICKS_PER_MS })
    }
    return true
  }

  #begin({ codec, data }: Body): void {
    const record = codec === 'H264' ? avcRecord(data) : hevcRecord(data)
    if (record === undefined) return
    this.#codec = codec
    this.#lengthBytes = record.lengthBytes
    this.#stream.setCaps(videoCaps(codec, record.sets))
  }
}

const isSent = (codec: NalCodec, first: number): boolean => {
  const { typeOf, isCarried, delimiter } = NAL_FORMATS[codec]
  return isCarried(typeOf(first)) && typeOf(first) !== delimiter
}

const bodyOf = (data: Buffer): Body | undefined => {
  const first = data[0] ?? 0
  if (data.length < 5 || (first >> 4) % 8 === COMMAND) return undefined
  if ((first & ENHANCED) === 0) {
    const codec = BY_ID[first & 0x0f]
    return codec && { codec, type: data[1] ?? 0, later: data.readIntBE(2, 3), data: data.subarray(5) }
  }
  const codec = BY_NAME[data.toString('latin1', 1, 5)]
  const type = first & 0x0f
  const isTimed = type === PICTURE && data.length >= 8
  return codec && { codec, type, later: isTimed ? data.readIntBE(5, 3) : 0, data: data.subarray(isTimed ? 8 : 5) }
}

/** The NAL units, each after its length; what is cut off is left out. */
const nalsOf = (data: Buffer, lengthBytes: number): readonly Buffer[] => {
  const nals: Buffer[] = []
  for (let at = 0; at + lengthBytes <= data.length && nals.length < MAX_NALS; ) {
    const begin = at + lengthBytes
    const end = begin + data.readUIntBE(at, lengthBytes)
    if (end > data.length) break
    if (end > begin) nals.push(data.subarray(begin, end))
    at = end
  }
  return nals
}

/** A list of parameter sets, each after its length of 16 bits; undefined when it is cut off. */
const setsAt = (data: Buffer, from: number, count: number): { readonly sets: readonly string[]; readonly end: number } | undefined => {
  const sets: string[] = []
  let at = from
  for (let left = count; left > 0; left -= 1) {
    if (at + 2 > data.length) return undefined
    const end = at + 2 + data.readUInt16BE(at)
    if (end > data.length) return undefined
    sets.push(data.subarray(at + 2, end).toString('base64'))
    at = end
  }
  return { sets, end: at }
}

const avcRecord = (data: Buffer): DecoderRecord | undefined => {
  const sps = data.length < 7 ? undefined : setsAt(data, 6, (data[5] ?? 0) & 0x1f)
  const pps = sps && setsAt(data, sps.end + 1, data[sps.end] ?? 0)
  if (sps === undefined || pps === undefined || sps.sets.length === 0) return undefined
  const sets = new Map([['sprop-parameter-sets', [...sps.sets, ...pps.sets].join()]])
  return { lengthBytes: ((data[4] ?? 0) & 3) + 1, sets }
}

const HEVC_HEADER = 23

const hevcRecord = (data: Buffer): DecoderRecord | undefined => {
  if (data.length < HEVC_HEADER) return undefined
  const sets = new Map<string, string>()
  let at = HEVC_HEADER
  for (let left = data[HEVC_HEADER - 1] ?? 0; left > 0; left -= 1) {
    if (at + 3 > data.length) return undefined
    const name = NAL_FORMATS.H265.parameterSets.get((data[at] ?? 0) & 0x3f)
    const list = setsAt(data, at + 3, data.readUInt16BE(at + 1))
    if (list === undefined) return undefined
    if (name !== undefined) sets.set(name, list.sets.join())
    at = list.end
  }
  return sets.has('sprop-sps') ? { lengthBytes: ((data[21] ?? 0) & 3) + 1, sets } : undefined
}
