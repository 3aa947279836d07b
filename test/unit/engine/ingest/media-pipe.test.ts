import { describe, expect, it } from 'vitest'
import { gdpBuffers, gdpStart } from '../../../../engine/gst/gdp.ts'
import { MediaPipe } from '../../../../engine/ingest/media-pipe.ts'
import { SecondPayloader } from '../../../../engine/play/second-payloader.ts'
import { RtpFramingError } from '../../../../engine/rtp/packet/rtp-framing-error.ts'
import { RtpStream } from '../../../../engine/rtp/stream.ts'
import { rounds } from '../../../helpers/random.ts'
import { H264_CAPS, IDR, KLV_CAPS, rtpPacket, SLICE } from '../../../helpers/rtsp/packets.ts'
import { Random } from '../../../helpers/rtsp/random-bytes.ts'

const PCMA = 'application/x-rtp, media=audio, clock-rate=8000, encoding-name=PCMA, payload=8'

const packet = (sequence: number): Buffer => rtpPacket({ sequence, timestamp: sequence * 3000, payload: sequence === 1 ? IDR : SLICE })

/** What a child writes: its caps, and then packets. */
const media = (caps: string, packets = 2): Buffer =>
  Buffer.concat([gdpStart(caps), gdpBuffers(Array.from({ length: packets }, (_, at) => packet(at + 1)))])

describe('the media of a child', () => {
  it('is found however the bytes are split, with caps that change', () => {
    const bytes = Buffer.concat([media('application/x-rtp'), media(H264_CAPS, 20), media(H264_CAPS, 20)])
    for (let seed = 1; seed <= rounds(50); seed += 1) {
      const stream = new RtpStream()
      stream.begin({ caps: null })
      const pipe = new MediaPipe(stream)
      for (const piece of new Random(seed).pieces(bytes, 400)) pipe.ingest(piece)
      // What comes before complete caps cannot be served.
      expect([stream.stats.units, stream.stats.malformedPackets, stream.caps?.encodingName]).toEqual([40, 2, 'H264'])
    }
  })

  it.each([
    ['sound', PCMA, [0, 2]],
    ['KLV', KLV_CAPS, [2, 0]],
  ])('of a second payloader goes where its caps say: %s', (_what, caps, expected) => {
    const [data, sound] = [new RtpStream(), new RtpStream()]
    data.begin({ caps: null })
    new MediaPipe(new SecondPayloader({ data, sound })).ingest(media(caps))
    expect([[data.stats.units, sound.stats.units], data.awaitsCaps]).toEqual([expected, false])
  })

  it('throws nothing but RtpFramingError when it is damaged', () => {
    const errors: unknown[] = []
    for (let seed = 1; seed <= rounds(100); seed += 1) {
      const random = new Random(seed)
      const stream = new RtpStream()
      stream.begin({ caps: null })
      const pipe = new MediaPipe(stream)
      try {
        for (const piece of random.pieces(random.mutate(media(H264_CAPS, 20)), 50)) pipe.ingest(piece)
      } catch (error) {
        errors.push(error)
      }
      stream.end()
    }
    expect(errors.filter((error) => !(error instanceof RtpFramingError))).toEqual([])
    expect(errors.length).toBeGreaterThan(0)
  })
})
