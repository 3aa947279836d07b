import { crc32 } from '../../../engine/mpegts/psi.ts'

const PACKET = 188
export const MAP_PID = 0x1000
export const VIDEO_PID = 0x100
export const KLV_PID = 0x101

/** A transport packet: its payload is stuffed to the full length, in the adaptation field or behind a section. */
export const transportPacket = (
  pid: number,
  {
    counter,
    payload,
    starts,
    stuffed,
  }: { readonly counter: number; readonly payload: Buffer; readonly starts: boolean; readonly stuffed: 'field' | 'behind' },
): Buffer => {
  const packet = Buffer.alloc(PACKET, 0xff)
  const field = stuffed === 'field' ? PACKET - 4 - payload.length : 0
  packet[0] = 0x47
  packet.writeUInt16BE((starts ? 0x4000 : 0) | pid, 1)
  packet[3] = (field > 0 ? 0x30 : 0x10) | (counter & 15)
  if (field > 0) packet[4] = field - 1
  if (field > 1) packet[5] = 0
  payload.copy(packet, 4 + field)
  return packet
}

const section = (table: number, id: number, version: number, body: readonly number[]): Buffer => {
  const length = 5 + body.length + 4
  const head = [table, 0xb0 | (length >> 8), length & 0xff, id >> 8, id & 0xff, 0xc1 | ((version & 31) << 1), 0, 0]
  const bytes = Buffer.from([...head, ...body, 0, 0, 0, 0])
  bytes.writeUInt32BE(crc32(bytes.subarray(0, -4)) >>> 0, bytes.length - 4)
  return Buffer.concat([Buffer.from([0]), bytes])
}

/** A program association and a program map of H.264 and KLV; each version another table. */
export const tables = (version = 0, counter = 0): Buffer => {
  const association = section(0, 1, version, [0, 1, 0xe0 | (MAP_PID >> 8), MAP_PID & 0xff])
  const klva = [5, 4, 0x4b, 0x4c, 0x56, 0x41]
  const streams = [0x1b, 0xe1, 0, 0xf0, 0, 0x06, 0xe1, 1, 0xf0, klva.length, ...klva]
  const map = section(2, 1, version, [0xe1, 0, 0xf0, 0, ...streams])
  return Buffer.concat([
    transportPacket(0, { counter, payload: association, starts: true, stuffed: 'behind' }),
    transportPacket(MAP_PID, { counter, payload: map, starts: true, stuffed: 'behind' }),
  ])
}

/** The begin of a PES packet; `length` 0: without one. */
export const pes = (id: number, pts: number, payload: Buffer, length = payload.length + 8): Buffer => {
  const head = Buffer.from([0, 0, 1, id, length >> 8, length & 0xff, 0x80, 0x80, 5, 0, 0, 0, 0, 0])
  head[9] = 0x21 | ((Math.floor(pts / 2 ** 30) & 7) << 1)
  head.writeUInt16BE((((pts >> 15) & 0x7fff) << 1) | 1, 10)
  head.writeUInt16BE(((pts & 0x7fff) << 1) | 1, 12)
  return Buffer.concat([head, payload])
}
