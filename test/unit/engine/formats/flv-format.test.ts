import { Writable } from 'node:stream'
import { expect, it, onTestFinished } from 'vitest'
import { MediaFormats } from '../../../../engine/formats/media-formats.ts'
import { openTsFeed } from '../../../../engine/formats/ts-feed.ts'
import { ServedSound } from '../../../../engine/mount/served-sound.ts'
import { RtpStream } from '../../../../engine/rtp/stream.ts'
import { Timeline } from '../../../../engine/rtp/timeline.ts'
import { beginStream, capsOf, H264_CAPS, IDR, rtpPacket, SLICE } from '../../../helpers/rtsp/packets.ts'

// Constrained baseline: no picture is reordered.
const SPS = Buffer.from('Z0LAFdkBQfsBagwMDUoAAAMAAgAAAwB5HixckA==', 'base64')
const PPS = Buffer.from('aMuMsg==', 'base64')
// AAC LC, 48 kHz, stereo; each packet has one frame of 21.3 ms.
const AAC =
  'application/x-rtp, media=audio, clock-rate=48000, encoding-name=MPEG4-GENERIC, payload=97, config=(string)1190, sizelength=(string)13, indexlength=(string)3, indexdeltalength=(string)3, timestamp-offset=(uint)0'
const PCMU = 'application/x-rtp, media=audio, clock-rate=8000, encoding-name=PCMU, payload=0, timestamp-offset=(uint)0'

interface Tag {
  readonly type: number
  readonly timeMs: number
  readonly data: Buffer
}

const readTag = (bytes: Buffer): Tag => {
  const size = bytes.readUIntBE(1, 3)
  expect([bytes.length, bytes.readUInt32BE(11 + size)]).toEqual([size + 15, size + 11])
  return { type: bytes[0] ?? 0, timeMs: bytes.readUIntBE(4, 3) + (bytes[7] ?? 0) * 2 ** 24, data: bytes.subarray(11, 11 + size) }
}

const setUp = (soundCaps = AAC) => {
  const clock = { ms: 1000 }
  const options = { timeline: new Timeline(0), now: () => clock.ms }
  const { stream: video } = beginStream(options, H264_CAPS)
  const sound = new RtpStream({ ...options, follows: video })
  const served = new ServedSound(sound, () => {})
  served.begin('unknown')
  sound.begin()
  sound.setCaps(capsOf(soundCaps))
  const tags: Tag[] = []
  const out = new Writable({ write: (_chunk, _encoding, done) => done() })
  const media = new MediaFormats({
    video,
    klv: () => undefined,
    klvCarriage: () => false,
    klvOfSource: new RtpStream(),
    sound: served,
    soundStream: () => sound,
  })
  let [pictures, packets, frames] = [0, 0, 0]
  /** `K` and `d`: pictures, 40 ms after the one before; `s`: sound of the moment of the last picture. */
  const feed = (pattern: string): void => {
    for (const kind of pattern) {
      clock.ms = 1000 + pictures * 40
      if (kind === 's') {
        const payload = Buffer.concat([Buffer.from([0, 16, 0, 4 << 3]), Buffer.from('abcd')])
        sound.ingestPacket(rtpPacket({ sequence: frames++, timestamp: (pictures - 1) * 1920, payload }))
        continue
      }
      const nals = kind === 'K' ? [SPS, PPS, IDR] : [SLICE]
      for (const [at, payload] of nals.entries())
        video.ingestPacket(rtpPacket({ sequence: packets++, timestamp: pictures * 3600, payload, marker: at === nals.length - 1 }))
      pictures += 1
    }
  }
  const open = () => {
    const frame = (all: readonly Buffer[]): Buffer => {
      tags.push(...all.map(readTag))
      return Buffer.concat(all)
    }
    const feedOf = openTsFeed(media, out, { catchUp: true, klv: false, sound: true, flv: frame })
    onTestFinished(() => feedOf.close())
  }
  return { feed, open, tags }
}

it('begins with what decoders need, then a key picture, and gives sound and pictures the times of one clock', () => {
  const { feed, open, tags } = setUp()
  open()
  feed('KsdsdsKsd')
  const [metadata, avc, key] = tags
  expect(metadata?.data.toString('latin1')).toMatch(/onMetaData.*videocodecid.*audiocodecid/s)
  expect([avc?.data.subarray(0, 2), avc?.data.subarray(5, 11)]).toEqual([Buffer.from('1700', 'hex'), Buffer.from('0142c015ffe1', 'hex')])
  expect(key?.data.subarray(0, 2)).toEqual(Buffer.from('1701', 'hex'))
  // Without its parameter sets, and after its length.
  expect(key?.data.readUInt32BE(5)).toBe(IDR.length)
  const sound = tags.filter(({ type }) => type === 8)
  expect(sound.map(({ timeMs, data }) => `${timeMs} ${data.toString('hex')}`)).toEqual([
    '0 af001190',
    ...[0, 40, 80, 120].slice(0, sound.length - 1).map((ms) => `${ms} af0161626364`),
  ])
  const pictures = tags.filter(({ type, data }) => type === 9 && data[1] === 1)
  expect(pictures.map(({ timeMs }) => timeMs)).toEqual([0, 40, 80, 120, 160].slice(0, pictures.length))
  expect([sound.length > 3, pictures.length > 3]).toEqual([true, true])
})

it('compresses the cached pictures for a receiver that joins, and begins with the sound of then', () => {
  const { feed, open, tags } = setUp()
  feed(`K${'sd'.repeat(24)}`)
  open()
  feed('sdsd')
  const times = (type: number): number[] => tags.filter((tag) => tag.type === type && tag.data[1] === 1).map(({ timeMs }) => timeMs)
  const [pictures, sound] = [times(9), times(8)]
  expect(pictures).toEqual([...pictures].sort((one, other) => one - other))
  expect(pictures.length).toBeGreaterThan(24)
  expect([pictures[0], Math.max(...pictures) < 200, sound.length > 0, sound.every((ms) => ms >= 0)]).toEqual([0, true, true, true])
  // As far apart as they came.
  expect(Math.abs((pictures.at(-1) ?? 0) - (sound.at(-1) ?? 0))).toBeLessThanOrEqual(40)
})

it('goes on without sound that stops or that FLV does not carry', () => {
  for (const { caps, pattern } of [
    { caps: AAC, pattern: 'Ksdddddd' },
    { caps: PCMU, pattern: 'Ksdsdsdsd' },
  ]) {
    const { feed, open, tags } = setUp(caps)
    open()
    feed(pattern)
    expect(tags.filter(({ type, data }) => type === 9 && data[1] === 1).length).toBeGreaterThan(3)
    expect(tags.some(({ type }) => type === 8)).toBe(caps === AAC)
  }
})
