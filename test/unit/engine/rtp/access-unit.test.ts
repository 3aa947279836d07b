import { expect, it } from 'vitest'
import { AccessUnit } from '../../../../engine/rtp/access-unit.ts'
import { IDR, rtpPacket } from '../../../helpers/rtsp/packets.ts'

const SPS = Buffer.from('67640015acd941', 'hex')
const LONGER = Buffer.concat([SPS, Buffer.alloc(20, 0x80)])

const sized = (nal: Buffer): readonly Buffer[] => [Buffer.of(nal.length >> 8, nal.length & 0xff), nal]

/** A key frame in one aggregation packet of this size. */
const keyUnit = (packetBytes: number): AccessUnit => {
  const slice = Buffer.concat([IDR, Buffer.alloc(packetBytes - 12 - 1 - 2 - SPS.length - 2 - IDR.length, 0x88)])
  const packet = rtpPacket({ sequence: 1, timestamp: 1, payload: Buffer.concat([Buffer.of(0x78), ...sized(SPS), ...sized(slice)]) })
  const header = { payload: 96, ssrc: 1, timestamp: 1, sequences: [1] }
  return AccessUnit.of([packet], header, { index: 0, key: true, mediaMs: 0, arrivedMs: 0 })
}

it.each([
  ['a picture with room for it', 20_000, [300, 400], true],
  ['a picture without', 2000, [300, 400], false],
  ['more than there is room for', 20_000, [700, 400], false],
])('sound before %s is in one piece of memory for all readers', (_what, pictureBytes, soundBytes, inRoom) => {
  const unit = keyUnit(pictureBytes)
  const picture = unit.framed(0)
  const [sound, other] = ['s', 'o'].map((name) => soundBytes.map((bytes) => Buffer.alloc(bytes, name))) as [Buffer[], Buffer[]]
  const bytes = unit.framedAfter(sound, picture)
  expect(bytes.equals(Buffer.concat([...sound, picture]))).toBe(true)
  expect(unit.framedAfter([...sound], picture)).toBe(bytes)
  expect(bytes.buffer === picture.buffer).toBe(inRoom)
  // What another reader has before the picture does not touch what is still to be written to the first.
  const otherBytes = unit.framedAfter(other, picture)
  expect([bytes, otherBytes].map((all) => String(all.subarray(0, 1)))).toEqual(['s', 'o'])
  expect(unit.framedAfter(sound, unit.framed(2)).subarray(-picture.length).equals(unit.framed(2))).toBe(true)
})

it('other NAL units go into a packet as long as a frame can hold it', () => {
  const change = (nal: Buffer): Buffer | undefined => (nal.equals(SPS) ? LONGER : undefined)
  expect(keyUnit(65_535 - 20).withNals('H264', change).bytes).toBe(65_535)
  const full = keyUnit(65_535 - 19)
  expect(full.withNals('H264', change)).toBe(full)
})
