import { expect, it } from 'vitest'
import { ServedSound } from '../../../../engine/mount/served-sound.ts'
import { RtpStream } from '../../../../engine/rtp/stream.ts'
import { capsOf } from '../../../helpers/rtsp/packets.ts'

const rtp = (rest: string) => capsOf(`application/x-rtp, media=audio, payload=97, timestamp-offset=(uint)0, ${rest}`)

it.each([
  ['AAC, which all carry', 'clock-rate=48000, encoding-name=MPEG4-GENERIC, config=(string)1190', null],
  ['Opus', 'clock-rate=48000, encoding-name=OPUS', /^Pushes over RTMP go without it\. Set audio to "aac"/],
  ['G.711', 'clock-rate=8000, encoding-name=PCMA', /MPEG-TS does not.*RTMP.*Set audio to "aac"/],
])('says what a receiver over RTMP goes without: %s', (_, caps, reason) => {
  const stream = new RtpStream()
  const sound = new ServedSound(stream, () => {})
  sound.begin('unknown')
  stream.begin()
  stream.setCaps(rtp(caps))
  const view = sound.view({ toRtmp: true })
  expect(view).toMatchObject({ carried: true, reason: reason === null ? null : expect.stringMatching(reason) })
  if (caps.includes('OPUS')) expect(sound.view({ toRtmp: false })?.reason).toBeNull()
})
