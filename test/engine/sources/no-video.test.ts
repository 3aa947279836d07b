import { spawn } from 'node:child_process'
import { expect, it, onTestFinished } from 'vitest'
import type { Fault } from '../../../engine/faults/fault.ts'
import { PICTURES, send, TS } from '../../helpers/media/play-launch.ts'
import { playSource } from '../../helpers/media/play-source.ts'
import { startRtmpServer } from '../../helpers/media/rtmp-server.ts'
import { freeUdpPort } from '../../helpers/ports.ts'

it('an SRT sender with another passphrase is told as such when no video comes', async () => {
  const port = await freeUdpPort()
  const play = await playSource(`srt://127.0.0.1:${port}?mode=listener&passphrase=correcthorse`, { startTimeoutMs: 6000 })
  onTestFinished(send(`${TS.H264} ! srtsink uri=srt://127.0.0.1:${port}?mode=caller passphrase=wrongbattery`))
  const fault = await play.ended
  expect([fault?.reason, fault?.message]).toEqual(['timeout', expect.stringContaining('passphrase is not the one in source.uri')])
  // Another sender may have the right one, so the source is tried again.
  expect(fault?.permanent).toBe(false)
}, 30_000)

it('an RTMP source with sound alone is told as such', async () => {
  const sound = '-q audiotestsrc is-live=true ! avenc_aac ! aacparse ! flvmux streamable=true ! fdsink fd=1'
  const server = await startRtmpServer(() => spawn('gst-launch-1.0', sound.split(' '), { stdio: ['ignore', 'pipe', 'ignore'] }))
  onTestFinished(() => server.stop())
  const fault = await (await playSource(server.uri, { startTimeoutMs: 4000 })).ended
  expect([fault?.reason, fault?.message]).toEqual(['timeout', expect.stringContaining('sound, but no video')])
}, 30_000)

const NO_KLV = { pass_klv: false, auto_extract_geolocation: false, synchronous: false }
const ADVANCED = {
  mode: 'advanced',
  on_demand: false,
  output: null,
  klv_config: NO_KLV,
  audio: 'off',
  audio_bitrate: null,
  push: [],
  ephemeral: false,
} as const

it('a payloader that takes no frame of its format is told as such', async () => {
  const raw_pipeline = 'videotestsrc is-live=true ! video/x-raw,format=Y444 ! jpegenc ! rtpjpegpay name=pay0'
  const fault = await (await playSource({ ...ADVANCED, id: 'jpeg', raw_pipeline }, { startTimeoutMs: 3000 })).ended
  expect([fault?.reason, fault?.message]).toEqual(['timeout', expect.stringContaining('pay0 does not take the video (Invalid component)')])
}, 30_000)

it('an advanced pipeline with a pad that is linked to nothing is told to link it', async () => {
  const fault = await (
    await playSource({ ...ADVANCED, id: 'unlinked', mode: 'advanced', raw_pipeline: 'videotestsrc' }, { startTimeoutMs: 3000 })
  ).ended
  expect([fault?.reason, fault?.message]).toEqual(['unsupported', expect.stringContaining('linked to nothing')])
}, 30_000)

const H264 = `videotestsrc is-live=true ! ${PICTURES} ! x264enc tune=zerolatency speed-preset=ultrafast key-int-max=10 ! h264parse`

it('a UDP source that sends something else is told as such: RTP, bare H.264, MPEG-TS without video', async () => {
  const tellsOf = async (sender: string): Promise<Fault | undefined> => {
    const port = await freeUdpPort()
    const play = await playSource(`udp://127.0.0.1:${port}`, { startTimeoutMs: 4000 })
    onTestFinished(send(`${sender} ! udpsink host=127.0.0.1 port=${port}`))
    return play.ended
  }
  const faults = await Promise.all([
    tellsOf(`${H264} ! rtph264pay config-interval=1`),
    tellsOf(`${H264} ! video/x-h264,stream-format=byte-stream`),
    tellsOf('audiotestsrc is-live=true ! avenc_aac ! mpegtsmux alignment=7'),
  ])
  expect(faults).toMatchObject(
    [
      ['timeout', 'sends RTP, not MPEG-TS'],
      ['timeout', 'sends data that is not MPEG-TS'],
      ['unsupported', 'carries no H.264 or H.265 video'],
    ].map(([reason, says]) => ({ reason, message: expect.stringContaining(says ?? '') })),
  )
}, 30_000)
