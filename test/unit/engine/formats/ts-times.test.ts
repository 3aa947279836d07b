import { PassThrough } from 'node:stream'
import { expect, it, onTestFinished } from 'vitest'
import { BitReader, BitWriter, withEmulation, withoutEmulation } from '../../../../engine/codec/bits.ts'
import { parseH264Sps } from '../../../../engine/codec/h264-sps.ts'
import { MediaFormats } from '../../../../engine/formats/media-formats.ts'
import { openTsFeed } from '../../../../engine/formats/ts-feed.ts'
import { ServedSound } from '../../../../engine/mount/served-sound.ts'
import { RtpStream } from '../../../../engine/rtp/stream.ts'
import { Timeline } from '../../../../engine/rtp/timeline.ts'
import { pictureTimes } from '../../../helpers/media/transport-stream.ts'
import { beginStream, H264_CAPS, IDR, rtpPacket, SLICE } from '../../../helpers/rtsp/packets.ts'

/** Main profile, which allows B-frames. */
const SPS = Buffer.from('674d4015e98283f602d418181a94000003000400000300f23c58b4e0', 'hex')
const PPS = Buffer.from('68efbc80', 'hex')
const B_SLICE = Buffer.from('01a0', 'hex')
const WRAP = 2 ** 33

/** The set without a VUI, or with one that states how many pictures are reordered. */
const spsWith = (reorderFrames: number | undefined): Buffer => {
  const to = new BitWriter()
  const sps = parseH264Sps(SPS)
  to.copy(new BitReader(withoutEmulation(SPS)), (reorderFrames === undefined ? sps?.vuiAt : sps?.restrictionAt) ?? 0)
  to.bit(reorderFrames === undefined ? 0 : 1)
  if (reorderFrames !== undefined) {
    to.bit(1)
    for (const value of [2, 1, 16, 16, reorderFrames, 4]) to.ue(value)
  }
  return Buffer.from(withEmulation(to.finish()))
}

/** When the pictures are shown, as they come. */
const [PLAIN, B_FRAMES, PYRAMID] = [
  [0, 1, 2, 3, 4, 5, 6, 7],
  [0, 3, 1, 2, 6, 4, 5, 7],
  [0, 8, 4, 2, 1, 3, 6, 5, 7],
]

/** `misplaced`: pictures of the first GOP that are shown late, before it is known how many are reordered. */
it.each([
  ['no B-frames, and no set that says so', undefined, PLAIN, 0],
  ['B-frames that the set states', 2, B_FRAMES, 0],
  ['B-frames of which the set says nothing', undefined, B_FRAMES, 0],
  ['more of them than usual', undefined, PYRAMID, 2],
  ['B-frames that the set denies', 0, B_FRAMES, 2],
  ['a pyramid that the set denies', 0, PYRAMID, 7],
])('decodes pictures one after the other, also when its own clock begins anew: %s', (_what, reorderFrames, shown, misplaced) => {
  let nowMs = WRAP / 90 - 2000
  const sps = spsWith(reorderFrames)
  const caps = `${H264_CAPS}, sprop-parameter-sets=(string)"${sps.toString('base64')},${PPS.toString('base64')}"`
  const { stream: video } = beginStream({ now: () => nowMs, timeline: new Timeline(nowMs) }, caps)
  const out = new PassThrough({ highWaterMark: 2 ** 24 })
  const feed = openTsFeed(
    new MediaFormats({
      video,
      klv: () => undefined,
      klvCarriage: () => false,
      klvOfSource: new RtpStream(),
      sound: new ServedSound(new RtpStream(), () => {}),
      soundStream: () => undefined,
    }),
    out,
    { catchUp: true, klv: false, sound: false },
  )
  onTestFinished(() => feed.close())
  const sent: number[] = []
  for (let gop = 0; gop < 12; gop += 1) {
    for (const [at, place] of shown.entries()) {
      nowMs += 40
      const earlier = shown.slice(0, at).some((before) => before > place)
      const timestamp = (gop * shown.length + place) * 3600
      const payload = at === 0 ? IDR : earlier ? B_SLICE : SLICE
      video.ingestPacket(rtpPacket({ sequence: sent.length, timestamp, payload }))
      sent.push(timestamp)
    }
  }
  const times = pictureTimes(out.read() as Buffer)
  const [first] = times
  const since = (ticks: number) => ((((ticks - (first?.pts ?? 0) + WRAP / 2) % WRAP) + WRAP) % WRAP) - WRAP / 2
  expect(times.at(-1)?.pts).toBeLessThan(WRAP / 2)
  const decoded = times.map(({ dts }) => since(dts))
  expect(decoded).toEqual([...new Set(decoded)].toSorted((one, other) => one - other))
  expect(times.filter(({ pts, dts }) => since(pts) < since(dts))).toEqual([])
  const moved = times.filter(({ pts }, at) => Math.abs(since(pts) - (sent[at] ?? 0)) > 1)
  expect(moved.length).toBeLessThanOrEqual(misplaced)
})
