import { KlvDemuxer } from '../../../engine/mpegts/klv-demuxer.ts'
import { toHex } from '../../fixtures/klv/hex.ts'

const PACKET_BYTES = 188

export const wholePackets = (bytes: Buffer): Buffer => bytes.subarray(0, bytes.length - (bytes.length % PACKET_BYTES))

export const packetsOf = (bytes: Buffer): readonly Buffer[] =>
  Array.from({ length: Math.floor(bytes.length / PACKET_BYTES) }, (_, at) => bytes.subarray(at * PACKET_BYTES, (at + 1) * PACKET_BYTES))

export const pidOfPacket = (packet: Buffer): number => packet.readUInt16BE(1) & 0x1fff

/** Whether a picture of our muxer begins in this packet. */
export const beginsPicture = (packet: Buffer): boolean => (packet.readUInt16BE(1) & 0x5fff) === 0x4100

export const countPictures = (bytes: Buffer): number => packetsOf(bytes).filter(beginsPicture).length

/** Packets whose counter does not follow that of the one before with the same PID (ISO/IEC 13818-1 section 2.4.3.3). */
export const counterGaps = (bytes: Buffer): number => {
  const last = new Map<number, number>()
  let gaps = 0
  for (const packet of packetsOf(bytes)) {
    const [pid, counter] = [pidOfPacket(packet), (packet[3] ?? 0) & 15]
    const before = last.get(pid)
    if (before !== undefined && counter !== ((before + 1) & 15)) gaps += 1
    last.set(pid, counter)
  }
  return gaps
}

/** The KLV packets of a transport stream, in hexadecimal. */
export const klvOf = (bytes: Buffer): readonly string[] => new KlvDemuxer().push(bytes).map((unit) => toHex(unit.bytes))

/** The packets that both have, and all that `received` has between the first and the last of them. */
export const overlap = (received: readonly string[], expected: readonly string[]) => {
  const common = expected.filter((packet) => received.includes(packet))
  return { common, between: received.slice(received.indexOf(common[0] ?? ''), received.lastIndexOf(common.at(-1) ?? '') + 1) }
}

/** When each picture of our muxer is shown and decoded, 90 kHz ticks. */
export const pictureTimes = (bytes: Buffer): readonly { readonly pts: number; readonly dts: number }[] =>
  packetsOf(bytes)
    .filter(beginsPicture)
    .map((packet) => {
      const pes = packet.subarray(packet.indexOf(Buffer.from([0, 0, 1, 0xe0])))
      const timeAt = (at: number) =>
        ((pes.readUInt8(at) >> 1) & 7) * 2 ** 30 + (pes.readUInt16BE(at + 1) >> 1) * 2 ** 15 + (pes.readUInt16BE(at + 3) >> 1)
      return { pts: timeAt(9), dts: timeAt(pes.readUInt8(7) >= 0xc0 ? 14 : 9) }
    })

/** Each picture of our muxer, with the time at which it is shown, 90 kHz ticks. */
export const picturesOf = (bytes: Buffer): readonly { readonly time: number; readonly data: Buffer }[] => {
  const pictures: Buffer[][] = []
  for (const packet of packetsOf(bytes)) {
    if (pidOfPacket(packet) !== 0x100) continue
    if (beginsPicture(packet)) pictures.push([])
    pictures.at(-1)?.push(packet.subarray(((packet[3] ?? 0) & 0x20) === 0 ? 4 : 5 + (packet[4] ?? 0)))
  }
  const times = pictureTimes(bytes)
  return pictures.map((parts, at) => ({ time: times[at]?.pts ?? Number.NaN, data: Buffer.concat(parts) }))
}
