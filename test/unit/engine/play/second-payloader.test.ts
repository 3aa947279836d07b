import { expect, it, vi } from 'vitest'
import { SecondPayloader } from '../../../../engine/play/second-payloader.ts'
import { RtpStream } from '../../../../engine/rtp/stream.ts'
import { fakeTimersInEachTest } from '../../../helpers/fake-timers.ts'
import { capsOf, framedPackets, KLV_CAPS, rtpPacket } from '../../../helpers/rtsp/packets.ts'

fakeTimersInEachTest()

const PCMA = 'application/x-rtp, media=audio, clock-rate=8000, encoding-name=PCMA, payload=8'

const setUp = () => {
  const [data, sound] = [new RtpStream(), new RtpStream()]
  data.begin({ caps: null })
  const second = new SecondPayloader({ data, sound })
  const send = (sequence: number): void => second.ingest(framedPackets(rtpPacket({ sequence, timestamp: sequence * 160, marker: true })))
  return { data, sound, second, send, units: () => [data.stats.units, sound.stats.units] }
}

it.each([
  ['sound', PCMA, [0, 2]],
  ['KLV', KLV_CAPS, [2, 0]],
])('media that comes before its caps goes where they say: %s', (_what, caps, expected) => {
  const { second, send, units, data } = setUp()
  send(1)
  second.setCaps(capsOf(caps))
  second.setCaps(capsOf(caps))
  send(2)
  expect([units(), data.awaitsCaps]).toEqual([expected, false])
})

it('media without caps is data', () => {
  const { data, send } = setUp()
  send(1)
  vi.advanceTimersByTime(1000)
  expect(data.holds).toBe(true)
})
