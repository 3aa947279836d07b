import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, it, onTestFinished } from 'vitest'
import { startService } from '../helpers/process/service.ts'
import { startRtspSource } from '../helpers/rtsp/source.ts'
import { until } from '../helpers/until.ts'

const run = promisify(execFile)
/** One GOP of a minute. Neither encoder says its frame rate. */
const LINES = {
  H264: 'openh264enc gop-size=1500 ! h264parse ! rtph264pay name=pay0 config-interval=-1',
  H265: 'x265enc speed-preset=ultrafast key-int-max=1500 option-string=no-vui-timing-info=1 ! h265parse ! rtph265pay name=pay0 config-interval=-1',
}

const frameRate = async (url: string, ...options: readonly string[]): Promise<string | undefined> => {
  const args = ['-v', 'error', ...options, '-select_streams', 'v', '-show_entries', 'stream=r_frame_rate', '-of', 'default=nw=1:nk=1', url]
  const { stdout } = await run('ffprobe', args, { timeout: 30_000 })
  return stdout.trim().split('\n')[0]
}

it.each(Object.entries(LINES))('ffprobe that joins in the middle of a GOP finds the frame rate of %s without one', async (_, encoder) => {
  const service = await startService()
  const raw_pipeline = `videotestsrc is-live=true pattern=ball ! video/x-raw,width=320,height=240,framerate=25/1 ! ${encoder}`
  const { status, body } = await service.request('POST', '/svc/pipeline', { id: 'cam', mode: 'advanced', raw_pipeline })
  expect({ status, message: body.message }).toEqual({ status: 201, message: undefined })
  const frames = async (): Promise<number> => (await service.request('GET', '/svc/pipeline/cam')).body.runtime.frames
  await until(frames, (count) => count > 50)
  const rtsp = body.output.uri.replace('0.0.0.0', '127.0.0.1')
  expect(await frameRate(rtsp, '-rtsp_transport', 'tcp')).toBe('25/1')
  expect(await frameRate(rtsp, '-rtsp_transport', 'udp')).toBe('25/1')
  expect(await frameRate(`${service.url}/svc/pipeline/cam/stream.ts`)).toBe('25/1')
  await service.stop()
})

/** Frames that ffmpeg gives an output of a fixed rate in a second: as many as the rate that it takes the stream for. */
const framesOfASecond = async (url: string): Promise<number> => {
  const output = ['-t', '1', '-frames:v', '500', '-fps_mode', 'cfr', '-f', 'framecrc', '-']
  const { stdout } = await run('ffmpeg', ['-v', 'error', '-rtsp_transport', 'tcp', '-i', url, ...output], { timeout: 30_000 })
  return stdout.split('\n').filter((line) => /^\d/.test(line)).length
}

it.each(['h264', 'h265'])('ffmpeg finds the frame rate of %s that was encoded of a source without one', async (codec) => {
  const source = await startRtspSource()
  onTestFinished(() => source.stop())
  const service = await startService()
  const encoding = { codec, bitrate: 500, quality: 1 }
  const { status, body } = await service.request('POST', '/svc/pipeline', {
    id: 'cam',
    mode: 'simple',
    source: { uri: source.url('/vp8') },
    encoding,
  })
  expect({ status, message: body.message }).toEqual({ status: 201, message: undefined })
  const rtsp = body.output.uri.replace('0.0.0.0', '127.0.0.1')
  for (let join = 0; join < 2; join += 1) expect(await framesOfASecond(rtsp)).toBeLessThan(60)
  await service.stop()
})
