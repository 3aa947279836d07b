import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { startService } from '../helpers/process/service.ts'
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
