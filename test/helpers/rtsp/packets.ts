import { parseRtpCaps, type RtpCaps } from '../../../engine/rtp/caps.ts'
import { RtpStream } from '../../../engine/rtp/stream.ts'

/** Fields of a hand-made RTP packet. */
interface PacketFields {
  readonly sequence: number
  readonly timestamp: number
  readonly marker?: boolean
  readonly payload?: Buffer | string
}

export const IDR = Buffer.from('6588', 'hex')
export const SLICE = Buffer.from('419a', 'hex')

/** A packet of payload type 96. */
export const rtpPacket = ({ sequence, timestamp, marker = true, payload = SLICE }: PacketFields): Buffer => {
  const body = typeof payload === 'string' ? Buffer.from(payload) : payload
  const packet = Buffer.alloc(12 + body.length)
  packet[0] = 0x80
  packet[1] = (marker ? 0x80 : 0) | 96
  packet.writeUInt16BE(sequence & 0xffff, 2)
  packet.writeUInt32BE(timestamp >>> 0, 4)
  packet.writeUInt32BE(0x11223344, 8)
  body.copy(packet, 12)
  return packet
}

export const H264_CAPS =
  'application/x-rtp, media=(string)video, clock-rate=(int)90000, encoding-name=(string)H264, payload=(int)96, timestamp-offset=(uint)0'
export const KLV_CAPS =
  'application/x-rtp, media=(string)application, clock-rate=(int)90000, encoding-name=(string)SMPTE336M, payload=(int)97, timestamp-offset=(uint)0'

/** The caps that this text names. */
export const capsOf = (text: string): RtpCaps => {
  const caps = parseRtpCaps(text)
  if (caps === undefined) throw new Error(`These are no caps of RTP: ${text}`)
  return caps
}

/** A stream that has begun, of H.264 unless its caps say otherwise, and takes access units 1/30 s apart. */
export const beginStream = (options: ConstructorParameters<typeof RtpStream>[0] = {}, caps = H264_CAPS) => {
  const stream = new RtpStream(options)
  stream.begin()
  stream.setCaps(capsOf(caps))
  let [sequence, timestamp] = [0, 0]
  /** One access unit of these payloads, and how long it lasts. */
  const send = (payloads: readonly Buffer[], ticks = 3000): void => {
    for (const [at, payload] of payloads.entries()) {
      stream.ingestPacket(rtpPacket({ sequence, timestamp, payload, marker: at === payloads.length - 1 }))
      sequence += 1
    }
    timestamp += ticks
  }
  return { stream, send }
}
