import { expect, it, vi } from 'vitest'
import { MediaFormats } from '../../../../engine/formats/media-formats.ts'
import { LiveAdmission } from '../../../../engine/live/admission.ts'
import { LiveHls } from '../../../../engine/live/live-hls.ts'
import { MountPoint } from '../../../../engine/mount/mount-point.ts'
import { ServedSound } from '../../../../engine/mount/served-sound.ts'
import { RtpStream } from '../../../../engine/rtp/stream.ts'
import type { PipelineConfig } from '../../../../lib/schema/pipeline.ts'
import { fakeTimersInEachTest } from '../../../helpers/fake-timers.ts'
import { beginStream, H264_CAPS, IDR, SLICE } from '../../../helpers/rtsp/packets.ts'

const SETS = 'Z01AFemYKD8mAtQYGBqUAAADAAQAAAMA8jxYtOA=,aO+8gA=='

/** A pipeline that sends a key frame each half second, and its live HLS. */
const setUp = () => {
  const { stream: video, send } = beginStream({}, `${H264_CAPS}, sprop-parameter-sets=(string)"${SETS}"`)
  let playing = true
  const mount = () =>
    new MountPoint(
      { host: '127.0.0.1', port: 1, path: 'cam' },
      { streams: [video], maxReaders: () => 2, describeTimeoutMs: () => 9000 },
      { cname: 'test', wallMs: (ms) => ms, reportMs: 5000 },
    )
  let point: MountPoint | undefined = mount()
  const media = new MediaFormats({
    video,
    klv: () => undefined,
    klvCarriage: () => false,
    klvOfSource: new RtpStream(),
    sound: new ServedSound(new RtpStream(), () => {}),
    soundStream: () => undefined,
  })
  const parts = { config: () => ({ id: 'cam', output: {} }) as PipelineConfig, media, point: () => point }
  const hls = new LiveHls({ ...parts, admission: new LiveAdmission(parts), now: Date.now })
  const play = async (seconds: number): Promise<void> => {
    for (let frame = 0; frame < seconds * 30; frame += 1) {
      if (playing) send([frame % 15 === 0 ? IDR : SLICE])
      await vi.advanceTimersByTimeAsync(1000 / 30)
    }
  }
  const stop = (): void => {
    point?.close()
    point = undefined
    playing = false
    video.end()
  }
  return { hls, play, stop, readers: () => point?.readers ?? 0 }
}

const NOT_PLAYING = { code: 'CONFLICT', details: { reason: 'not_playing' } }

fakeTimersInEachTest()

it('counts a client as one reader until it has asked for nothing for 30 s', async () => {
  const { hls, play, readers } = setUp()
  await play(0.4)
  const first = hls.playlist('10.0.0.1')
  await play(3)
  expect(await first).toMatch(/EXTINF:2\.\d+,\nlive\/\d+\.ts\n$/)
  for (const client of ['10.0.0.1', '10.0.0.2', '10.0.0.1']) await hls.playlist(client)
  expect(readers()).toBe(2)
  await expect(hls.playlist('10.0.0.3')).rejects.toMatchObject({ details: { reason: 'reader_limit' } })
  await play(20)
  const name = /live\/(\d+\.ts)\n$/.exec(await hls.playlist('10.0.0.2'))?.[1] ?? ''
  await play(12)
  expect(readers()).toBe(1)
  await play(8)
  await expect(hls.segment('10.0.0.2', name)).rejects.toMatchObject({ code: 'NOT_FOUND', details: { reason: 'no_segment' } })
  await play(32)
  expect(readers()).toBe(0)
})

it('ends the playlist for those who read it when the pipeline stops, and has nothing after 30 s', async () => {
  const { hls, play, stop } = setUp()
  await play(0.4)
  const first = hls.playlist('10.0.0.1')
  await play(3)
  await first
  stop()
  expect(await hls.playlist('10.0.0.1')).toMatch(/#EXT-X-ENDLIST\n$/)
  await expect(hls.playlist('10.0.0.2')).rejects.toMatchObject(NOT_PLAYING)
  await play(32)
  await expect(hls.playlist('10.0.0.1')).rejects.toMatchObject(NOT_PLAYING)
})

it('says that no video comes when the first segment does not', async () => {
  const { hls, play } = setUp()
  await play(0.4)
  const answer = hls.playlist('10.0.0.1').catch(({ details }) => details)
  await vi.advanceTimersByTimeAsync(15_000)
  expect(await answer).toEqual({ reason: 'no_segment' })
})
