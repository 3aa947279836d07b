import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { DESCRIPTORS, KLV_PID, TsMuxer } from '../../fixtures/klv/ts-muxer.ts'
import { send } from '../media/play-launch.ts'
import { freeUdpPort } from '../ports.ts'

const PACKET = 188
const PMT_PID = 0x20

interface TsKlvSender {
  /** The source address for the pipeline. */
  readonly uri: string
  /** Every KLV packet sent so far, with the presentation time of its video frame, and bytes that only this frame has. */
  readonly sent: { readonly pts: number; readonly klv: Uint8Array; readonly mark: Buffer }[]
  stop(): Promise<void>
}

interface TsKlvOptions {
  readonly synchronous: boolean
  /** The packet of video frame `index`; undefined: none. */
  readonly klv: (index: number) => Uint8Array | undefined
  /** Whether the program map announces the KLV; always by default. */
  readonly announced?: () => boolean
  readonly fps?: number
  /** Frames from one key frame to the next. */
  readonly keyInterval?: number
  readonly bitrate?: number
  /** Elements that make H.264 of this frame rate, instead of a test picture. */
  readonly video?: string
  /** Replaces the transport packets of a KLV packet, to simulate a broken sender. */
  readonly damage?: (transport: Uint8Array) => Uint8Array
}

/** A live MPEG-TS over UDP: H.264 by GStreamer, with KLV inserted at the presentation time of each frame. */
export const startTsKlvSender = async ({
  synchronous,
  klv,
  announced = () => true,
  fps = 10,
  keyInterval = fps,
  bitrate = 500,
  video = testVideo(fps, keyInterval, bitrate),
  damage,
}: TsKlvOptions): Promise<TsKlvSender> => {
  const [relayPort, port] = [await freeUdpPort(), await freeUdpPort()]
  const relay = createSocket({ type: 'udp4', recvBufferSize: 1024 * 1024 })
  const muxer = new TsMuxer()
  const sent: { pts: number; klv: Uint8Array; mark: Buffer }[] = []
  let frames = 0

  const withKlv = (pts: number, mark: Buffer): Uint8Array[] => {
    const packet = klv(frames++)
    if (packet === undefined) return []
    sent.push({ pts, klv: packet, mark })
    const transport = synchronous ? muxer.synchronous(pts, packet) : muxer.asynchronous(pts, packet)
    return [damage === undefined ? transport : damage(transport)]
  }
  const tables = (): Uint8Array => {
    if (!announced()) return muxer.tables(0x06, DESCRIPTORS.none)
    return synchronous ? muxer.tables(0x15, DESCRIPTORS.synchronous) : muxer.tables(0x06, DESCRIPTORS.asynchronous, KLV_PID)
  }
  const rewrite = (packet: Buffer): Uint8Array[] => {
    const pid = packet.readUInt16BE(1) & 0x1fff
    if (pid === 0) return []
    if (pid === PMT_PID) return [tables()]
    const pts = ptsOf(packet)
    // The end of its first packet: a slice has begun.
    return pts === undefined ? [packet] : [packet, ...withKlv(pts, Buffer.from(packet.subarray(-48)))]
  }

  relay.on('message', (message) => {
    const parts: Uint8Array[] = []
    for (let at = 0; at + PACKET <= message.length; at += PACKET) parts.push(...rewrite(message.subarray(at, at + PACKET)))
    const out = Buffer.concat(parts)
    for (let at = 0; at < out.length; at += 7 * PACKET) relay.send(out.subarray(at, at + 7 * PACKET), port, '127.0.0.1')
  })
  relay.bind(relayPort, '127.0.0.1')
  await once(relay, 'listening')
  const stopSource = send(`${video} ! h264parse ! mpegtsmux alignment=7 ! udpsink host=127.0.0.1 port=${relayPort} sync=false`)
  return {
    uri: `udp://127.0.0.1:${port}`,
    sent,
    stop: async () => {
      await stopSource()
      await new Promise<void>((resolve) => relay.close(() => resolve()))
    },
  }
}

const testVideo = (fps: number, keyInterval: number, bitrate: number): string =>
  `videotestsrc is-live=true pattern=snow ! video/x-raw,format=I420,width=320,height=180,framerate=${fps}/1 ! ` +
  `x264enc tune=zerolatency speed-preset=ultrafast bitrate=${bitrate} key-int-max=${keyInterval}`

/** The PTS of a transport packet that begins a PES packet of the video; undefined for all others. */
const ptsOf = (packet: Buffer): number | undefined => {
  const starts = ((packet[1] ?? 0) & 0x40) !== 0
  const hasField = ((packet[3] ?? 0) & 0x20) !== 0
  const at = hasField ? 5 + (packet[4] ?? 0) : 4
  if (!starts || at + 14 > PACKET || packet.readUIntBE(at, 3) !== 1 || ((packet[at + 3] ?? 0) & 0xf0) !== 0xe0) return undefined
  if (((packet[at + 7] ?? 0) & 0x80) === 0) return undefined
  const p = packet.subarray(at + 9, at + 14)
  return (((p[0] ?? 0) >> 1) & 7) * 2 ** 30 + ((p.readUInt16BE(1) >> 1) << 15) + (p.readUInt16BE(3) >> 1)
}
