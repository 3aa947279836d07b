import { Writable } from 'node:stream'
import { expect, it } from 'vitest'
import { LiveVideo } from '../../../../engine/live/live.ts'
import { parseRtpCaps, type RtpCaps } from '../../../../engine/rtp/caps.ts'
import { RtpStream } from '../../../../engine/rtp/stream.ts'
import { configure } from '../../../helpers/media/play-launch.ts'
import { H264_CAPS, IDR, rtpPacket, SLICE } from '../../../helpers/rtsp/packets.ts'

const SPS = Buffer.from('674d4015e98283f602d418181a94000003000400000300f23c58b4e0', 'hex')
const PPS = Buffer.from('68efbc80', 'hex')

const START_CODE = Buffer.from('000001', 'hex')

/** Types of the NAL units in a transport stream, whose PES headers have start codes of their own. */
const nalTypes = (bytes: Buffer): readonly number[] => {
  const types: number[] = []
  for (let at = bytes.indexOf(START_CODE); at >= 0; at = bytes.indexOf(START_CODE, at + 3)) types.push(bytes[at + 3] ?? 0)
  return types.filter((header) => header < 0x80).map((header) => header & 0x1f)
}

it('a transport stream begins with a key picture and its parameter sets, also when they become known later', () => {
  const video = new RtpStream()
  const capsOf = (more = ''): RtpCaps => parseRtpCaps(`${H264_CAPS}${more}`) as RtpCaps
  video.begin()
  video.setCaps(capsOf())
  let [sequence, timestamp] = [0, 0]
  const unit = (...payloads: readonly Buffer[]): void => {
    for (const [at, payload] of payloads.entries()) {
      video.ingestPacket(rtpPacket({ sequence: sequence++, timestamp, marker: at === payloads.length - 1, payload }))
    }
    timestamp += 3000
  }
  // A child that is held up lets an access unit fall into two: the parameter sets are in none that is cached.
  unit(SPS, PPS)
  unit(IDR)
  const written: Buffer[] = []
  const out = new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      written.push(chunk)
      done()
    },
  })
  const live = new LiveVideo({
    config: () => configure('test://ball', null),
    video,
    klv: new RtpStream(),
    hasKlv: () => false,
    point: () => undefined,
  })
  const feed = live.feed(out, { catchUp: true, klv: true })
  unit(SLICE)
  expect(nalTypes(Buffer.concat(written))).toEqual([])
  video.setCaps(capsOf(`, sprop-parameter-sets=(string)"${SPS.toString('base64')},${PPS.toString('base64')}"`))
  unit(SLICE)
  expect(nalTypes(Buffer.concat(written))).toEqual([])
  unit(IDR)
  unit(SLICE)
  feed.close()
  expect(nalTypes(Buffer.concat(written))).toEqual([9, 7, 8, 5, 9, 1])
})
