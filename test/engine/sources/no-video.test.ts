import { spawn } from 'node:child_process'
import { expect, it, onTestFinished } from 'vitest'
import { PICTURES, send, TS } from '../../helpers/media/play-launch.ts'
import { playSource, type SourcePlay } from '../../helpers/media/play-source.ts'
import { startRtmpServer } from '../../helpers/media/rtmp-server.ts'
import { freeUdpPort } from '../../helpers/ports.ts'

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

const H264 = `videotestsrc is-live=true ! ${PICTURES} ! x264enc tune=zerolatency speed-preset=ultrafast key-int-max=10 ! h264parse`

const play = (source: Parameters<typeof playSource>[0]): Promise<SourcePlay> => playSource(source, { startTimeoutMs: 6000 })
const described = (raw_pipeline: string) => () => play({ ...ADVANCED, id: 'described', raw_pipeline })
const sentOverUdp = (sender: string) => async () => {
  const port = await freeUdpPort()
  const played = await play(`udp://127.0.0.1:${port}`)
  onTestFinished(send(`${sender} ! udpsink host=127.0.0.1 port=${port}`))
  return played
}
const srtOfAnotherPassphrase = async () => {
  const port = await freeUdpPort()
  const played = await play(`srt://127.0.0.1:${port}?mode=listener&passphrase=correcthorse`)
  onTestFinished(send(`${TS.H264} ! srtsink uri=srt://127.0.0.1:${port}?mode=caller passphrase=wrongbattery`))
  return played
}
const rtmpWithSoundAlone = async () => {
  const sound = '-q audiotestsrc is-live=true ! avenc_aac ! aacparse ! flvmux streamable=true ! fdsink fd=1'
  const server = await startRtmpServer(() => spawn('gst-launch-1.0', sound.split(' '), { stdio: ['ignore', 'pipe', 'ignore'] }))
  onTestFinished(() => server.stop())
  return play(server.uri)
}

/** What is told of each. One that may send video later, such as another SRT sender, is tried again. */
const TOLD: readonly (readonly [begin: () => Promise<SourcePlay>, reason: string, permanent: boolean, says: string])[] = [
  [srtOfAnotherPassphrase, 'timeout', false, 'passphrase is not the one in source.uri'],
  [rtmpWithSoundAlone, 'timeout', false, 'sound, but no video'],
  [
    described('videotestsrc is-live=true ! video/x-raw,format=Y444 ! jpegenc ! rtpjpegpay name=pay0'),
    'timeout',
    false,
    'pay0 does not take the video (Invalid component)',
  ],
  [described('videotestsrc'), 'unsupported', true, 'linked to nothing'],
  [sentOverUdp(`${H264} ! rtph264pay config-interval=1`), 'timeout', false, 'sends RTP, not MPEG-TS'],
  [sentOverUdp(`${H264} ! video/x-h264,stream-format=byte-stream`), 'timeout', false, 'sends data that is not MPEG-TS'],
  [sentOverUdp('audiotestsrc is-live=true ! avenc_aac ! mpegtsmux alignment=7'), 'unsupported', true, 'carries no H.264 or H.265 video'],
]

// All at once, since most of it is to wait.
it('a source without video is told what it sends instead', async () => {
  const faults = await Promise.all(TOLD.map(async ([begin]) => (await begin()).ended))
  expect(faults).toMatchObject(TOLD.map(([, reason, permanent, says]) => ({ reason, permanent, message: expect.stringContaining(says) })))
}, 30_000)
