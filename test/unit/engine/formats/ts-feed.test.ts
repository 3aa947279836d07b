import { Writable } from 'node:stream'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, it, onTestFinished } from 'vitest'
import { MediaFormats } from '../../../../engine/formats/media-formats.ts'
import { openTsFeed } from '../../../../engine/formats/ts-feed.ts'
import { ServedSound } from '../../../../engine/mount/served-sound.ts'
import { RtpStream } from '../../../../engine/rtp/stream.ts'
import { Timeline } from '../../../../engine/rtp/timeline.ts'
import { flightPacket } from '../../../../lib/st0601/synthetic-flight.ts'
import { counterGaps, klvOf } from '../../../helpers/media/transport-stream.ts'
import { beginStream, capsOf, H264_CAPS, IDR, SLICE } from '../../../helpers/rtsp/packets.ts'
import { until } from '../../../helpers/until.ts'

const SPS = Buffer.from('674d4015e98283f602d418181a94000003000400000300f23c58b4e0', 'hex')
const PPS = Buffer.from('68efbc80', 'hex')
/** Its times are those of its arrival. */
const KLV_CAPS = 'application/x-rtp, media=(string)application, clock-rate=(int)90000, encoding-name=(string)SMPTE336M, payload=(int)97'
const START_CODE = Buffer.from('000001', 'hex')

/** A stream of access units, and what a feed of it writes. */
const setUp = () => {
  const clock = { nowMs: 1000 }
  const options = { now: () => clock.nowMs, timeline: new Timeline(clock.nowMs) }
  const { stream: video, send } = beginStream(options)
  const { stream: klv, send: sendKlv } = beginStream(options, KLV_CAPS)
  const written: Buffer[] = []
  /** A receiver that takes nothing until `resume` is called. */
  const slow = { isHeld: false, resume: () => {} }
  const out = new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      written.push(chunk)
      if (!slow.isHeld) done()
      else slow.resume = done
    },
  })
  const media = new MediaFormats({
    video,
    klv: () => klv,
    klvCarriage: () => 'synchronous',
    klvOfSource: new RtpStream(),
    sound: new ServedSound(new RtpStream(), () => {}),
    soundStream: () => undefined,
  })
  const feed = (catchUp: boolean | 'timed' = true) => {
    const opened = openTsFeed(media, out, { catchUp, klv: true, sound: false })
    onTestFinished(() => opened.close())
  }
  return { clock, video, send, sendKlv, feed, written, slow }
}

/** Types of the NAL units in a transport stream, whose PES headers have start codes of their own. */
const nalTypes = (bytes: Buffer): readonly number[] => {
  const types: number[] = []
  for (let at = bytes.indexOf(START_CODE); at >= 0; at = bytes.indexOf(START_CODE, at + 3)) types.push(bytes[at + 3] ?? 0)
  return types.filter((header) => header < 0x80).map((header) => header & 0x1f)
}

const collectGarbage = async (): Promise<void> => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  for (let round = 0; round < 3; round += 1) {
    collect()
    await new Promise((resolve) => setImmediate(resolve))
  }
}

it('begins with a key picture and its parameter sets, also when they become known later', () => {
  const { video, send, feed, written } = setUp()
  // A child that is held up lets an access unit fall into two: the parameter sets are in none that is cached.
  send([SPS, PPS])
  send([IDR])
  feed()
  send([SLICE])
  expect(nalTypes(Buffer.concat(written))).toEqual([])
  video.setCaps(capsOf(`${H264_CAPS}, sprop-parameter-sets=(string)"${SPS.toString('base64')},${PPS.toString('base64')}"`))
  send([SLICE])
  expect(nalTypes(Buffer.concat(written))).toEqual([])
  send([IDR])
  send([SLICE])
  expect(nalTypes(Buffer.concat(written))).toEqual([9, 7, 8, 5, 9, 1])
})

it('keeps the GOP that it began with no longer than the pipeline does', async () => {
  const { video, send, feed, written } = setUp()
  send([SPS, PPS, IDR])
  send([SLICE])
  feed()
  expect(written.length).toBeGreaterThan(0)
  send([SLICE])
  const cached = video.gop?.units.map((unit) => new WeakRef(unit))
  send([SPS, PPS, IDR])
  send([SLICE])
  await collectGarbage()
  expect(cached?.map((unit) => unit.deref())).toEqual([undefined, undefined, undefined])
})

it('keeps no packets longer than a receiver that waits needs them, and loses none for it', async () => {
  const { send, feed, written, slow } = setUp()
  feed()
  send([SPS, PPS, IDR])
  slow.isHeld = true
  for (let unit = 0; unit < 4; unit += 1) send([SLICE])
  expect(written).toHaveLength(2)
  slow.isHeld = false
  slow.resume()
  await until(
    () => written.length,
    (length) => length === 5,
  )
  expect(nalTypes(Buffer.concat(written))).toEqual([9, 7, 8, 5, 9, 1, 9, 1, 9, 1, 9, 1])
  expect(counterGaps(Buffer.concat(written))).toBe(0)
  const packets = written.splice(0).map((chunk) => new WeakRef(chunk))
  await collectGarbage()
  expect(packets.map((chunk) => chunk.deref() !== undefined)).toEqual([false, false, false, false, true])
})

it('sends a picture once that is cached while it is handed out', () => {
  const { video, send, feed, written } = setUp()
  const unsubscribe = video.onUnit(() => {
    unsubscribe()
    feed('timed')
  })
  send([SPS, PPS, IDR])
  send([SLICE])
  expect(nalTypes(Buffer.concat(written))).toEqual([9, 7, 8, 5, 9, 1])
})

it('sends KLV once that came before its picture, and before the receiver', () => {
  const { clock, send, sendKlv, feed, written } = setUp()
  for (const nals of [[SPS, PPS, IDR], [SLICE]]) {
    send(nals)
    clock.nowMs += 100
  }
  sendKlv([Buffer.from(flightPacket(0))])
  feed('timed')
  expect(klvOf(Buffer.concat(written))).toHaveLength(0)
  for (let picture = 0; picture < 5; picture += 1) {
    send([SLICE])
    clock.nowMs += 100
  }
  expect(klvOf(Buffer.concat(written))).toHaveLength(1)
})
