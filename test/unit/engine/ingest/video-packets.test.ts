import { expect, it } from 'vitest'
import { VideoPackets } from '../../../../engine/ingest/demux/video-packets.ts'
import { createMediaStreams } from '../../../../engine/rtp/media-streams.ts'

const [IDR, P, LATER_SLICE, DELIMITER] = [0x65, 0x41, 0x41, 0x09]
/** A NAL unit with its start code; slices of which the first bit is set begin a picture. */
const nal = (header: number, bytes: number, first = 0x88): Buffer =>
  Buffer.concat([Buffer.of(0, 0, 0, 1, header, first), Buffer.alloc(bytes, 0xaa)])

/** The pictures that come of PES packets, each as its time in ticks and the types of its NAL units. */
const picturesOf = (packets: readonly { pts?: number; payload: Buffer; bounded?: boolean }[]): readonly string[] => {
  const [video] = createMediaStreams()
  const pictures: string[] = []
  video.begin({ foreign: true })
  const input = new VideoPackets('H264', video, (pts) => pts)
  video.onUnit((unit) => {
    const ticks = Math.round((unit.mediaMs - video.runStartMs) * 90)
    const types = unit.payloads().map(([first = 0]) => ((first & 0x1f) === 28 ? 'part' : first & 0x1f))
    pictures.push(`${ticks}:${types.join()}`)
  })
  for (const { pts = null, payload, bounded = true } of packets) input.take({ pts, payload, bounded })
  video.end()
  return pictures
}

it('a picture in several PES packets is complete with the next picture', () => {
  const picture = nal(IDR, 900)
  expect(
    picturesOf([
      { pts: 0, payload: nal(IDR, 10) },
      { payload: nal(LATER_SLICE, 10, 0x08) },
      { pts: 3600, payload: picture.subarray(0, 500) },
      { payload: picture.subarray(500) },
      { pts: 7200, payload: nal(P, 10) },
      { pts: 10_800, payload: nal(P, 10) },
    ]),
  ).toEqual(['0:5', '3600:5', '7200:1'])
})

it('a picture that fills the longest PES packet with a length waits for its rest', () => {
  const picture = nal(IDR, 70_000)
  const pictures = picturesOf([
    { pts: 0, payload: picture.subarray(0, 65_500) },
    { payload: picture.subarray(65_500) },
    { pts: 3600, payload: nal(P, 10) },
  ])
  expect(pictures.map((each) => each.replace(/(part,?)+/, 'parts'))).toEqual(['0:parts', '3600:1'])
})

it('pictures without a time stamp get the usual step, several in one PES packet too', () => {
  const delimiter = nal(DELIMITER, 0, 0xf0)
  expect(
    picturesOf([
      { payload: nal(P, 10) },
      { pts: 0, payload: nal(IDR, 10) },
      { pts: 3000, payload: nal(P, 10) },
      { payload: nal(P, 10) },
      { pts: 9000, payload: Buffer.concat([delimiter, nal(P, 10), delimiter, nal(P, 10)]) },
    ]),
  ).toEqual(['0:5', '3000:1', '6000:1', '9000:1', '12000:1'])
})
