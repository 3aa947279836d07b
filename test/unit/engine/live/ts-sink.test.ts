import { Writable } from 'node:stream'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, it, onTestFinished } from 'vitest'
import { LiveVideo } from '../../../../engine/live/live.ts'
import { parseRtpCaps, type RtpCaps } from '../../../../engine/rtp/caps.ts'
import { RtpStream } from '../../../../engine/rtp/stream.ts'
import { configure } from '../../../helpers/media/play-launch.ts'
import { H264_CAPS, IDR, rtpPacket, SLICE } from '../../../helpers/rtsp/packets.ts'

const SPS = Buffer.from('674d4015e98283f602d418181a94000003000400000300f23c58b4e0', 'hex')
const PPS = Buffer.from('68efbc80', 'hex')

const collectGarbage = async (): Promise<void> => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  for (let round = 0; round < 3; round += 1) {
    collect()
    await new Promise((resolve) => setImmediate(resolve))
  }
}

it('a transport stream keeps the GOP that it began with no longer than the pipeline does', async () => {
  const video = new RtpStream()
  video.begin()
  video.setCaps(parseRtpCaps(H264_CAPS) as RtpCaps)
  const units: WeakRef<object>[] = []
  video.onUnit((unit) => units.push(new WeakRef(unit)))
  let [sequence, timestamp] = [0, 0]
  const send = (...payloads: readonly Buffer[]): void => {
    for (const [at, payload] of payloads.entries()) {
      video.ingestPacket(rtpPacket({ sequence: sequence++, timestamp, marker: at === payloads.length - 1, payload }))
    }
    timestamp += 3000
  }
  const live = new LiveVideo({
    config: () => configure('test://ball', null),
    video,
    klv: new RtpStream(),
    hasKlv: () => false,
    point: () => undefined,
  })
  send(SPS, PPS, IDR)
  send(SLICE)
  let bytes = 0
  const out = new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      bytes += chunk.length
      done()
    },
  })
  const feed = live.feed(out, { catchUp: true, klv: false })
  onTestFinished(() => feed.close())
  expect(bytes).toBeGreaterThan(0)
  send(SLICE)
  send(SPS, PPS, IDR)
  send(SLICE)
  await collectGarbage()
  expect(units.map((unit) => unit.deref() !== undefined)).toEqual([false, false, false, true, true])
})
