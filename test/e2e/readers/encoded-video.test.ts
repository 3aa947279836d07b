import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { createPipeline, openSource, untilView } from '../../helpers/service/pipelines.ts'
import { shareService } from '../../helpers/service/share-service.ts'

const run = promisify(execFile)
const service = shareService()

/** One GOP of a minute. Neither encoder writes its frame rate. */
const WITHOUT_RATE = {
  h264: 'openh264enc gop-size=1500 ! h264parse ! rtph264pay name=pay0 config-interval=-1',
  h265: 'x265enc speed-preset=ultrafast key-int-max=1500 option-string=no-vui-timing-info=1 ! h265parse ! rtph265pay name=pay0 config-interval=-1',
}

const frameRate = async (url: string, ...options: readonly string[]): Promise<string | undefined> => {
  const args = ['-v', 'error', ...options, '-select_streams', 'v', '-show_entries', 'stream=r_frame_rate', '-of', 'default=nw=1:nk=1', url]
  const { stdout } = await run('ffprobe', args, { timeout: 30_000 })
  return stdout.trim().split('\n')[0]
}

it('ffprobe that joins in the middle of a GOP finds the frame rate of H.264 and H.265 without one', async () => {
  const ratesOf = async ([id, encoder]: readonly [string, string]): Promise<readonly unknown[]> => {
    const raw_pipeline = `videotestsrc is-live=true pattern=ball ! video/x-raw,width=320,height=240,framerate=25/1 ! ${encoder}`
    const url = await createPipeline(service, id, { raw_pipeline })
    await untilView(service, id, ({ runtime }) => runtime.frames > 50)
    const ways = [
      frameRate(url, '-rtsp_transport', 'tcp'),
      frameRate(url, '-rtsp_transport', 'udp'),
      frameRate(`${service.url}/svc/pipeline/${id}/stream.ts`),
    ]
    return [id, ...(await Promise.all(ways))]
  }
  const found = Object.keys(WITHOUT_RATE).map((id) => [id, '25/1', '25/1', '25/1'])
  expect(await Promise.all(Object.entries(WITHOUT_RATE).map(ratesOf))).toEqual(found)
})

/** Frames that ffmpeg gives an output of a fixed rate in a second: as many as the rate that it takes the stream for. */
const framesOfASecond = async (url: string): Promise<number> => {
  const output = ['-t', '1', '-frames:v', '500', '-fps_mode', 'cfr', '-f', 'framecrc', '-']
  const { stdout } = await run('ffmpeg', ['-v', 'error', '-rtsp_transport', 'tcp', '-i', url, ...output], { timeout: 30_000 })
  return stdout.split('\n').filter((line) => /^\d/.test(line)).length
}

it.each(['h264', 'h265'])('ffmpeg finds the frame rate of %s that was encoded of a source without one', async (codec) => {
  const source = await openSource()
  const encoding = { codec, bitrate: 500, quality: 1 }
  const url = await createPipeline(service, codec, { source: { uri: source.url('/vp8') }, encoding })
  // Without a rate ffmpeg takes the clock of RTP for one, and stops at 500; on a busy host it may take the pace of the cached GOP.
  for (const frames of await Promise.all([framesOfASecond(url), framesOfASecond(url)])) expect(frames).toBeLessThan(200)
})

/** A decoder reports which NAL unit or picture it could not use; the demuxer and the muxer around it report other things. */
const OF_A_DECODER = /^\[(?:h264|hevc) @|corrupt|conceal|decod/i

/** The messages of ffmpeg's decoder, warnings too, while it reads this many frames. */
const complaints = async (url: string, frames: number): Promise<readonly string[]> => {
  const args = ['-v', 'warning', '-rtsp_transport', 'tcp', '-i', url, '-map', '0:v', '-frames:v', String(frames), '-f', 'null', '-']
  const { stderr } = await run('ffmpeg', args, { timeout: 40_000, maxBuffer: 16 * 1024 * 1024 })
  return stderr.split('\n').filter((line) => OF_A_DECODER.test(line))
}

it('the video of a pipeline is decoded by ffmpeg without an error or a warning', async () => {
  const source = await openSource('--gop-seconds', '0.5')
  const small = { quality: 1, bitrate: 500 }
  const bodies = {
    ball: {},
    'ball-h265': { source: { uri: 'test://ball?width=320&height=180&fps=20' }, encoding: { codec: 'h265', ...small } },
    again: { source: { uri: source.url('/h264') }, encoding: { codec: 'h264', width: 320, height: 180, ...small } },
    through: { source: { uri: source.url('/h264') } },
  }
  const check = async ([id, body]: readonly [string, object]): Promise<void> => {
    const url = await createPipeline(service, id, { ...body })
    // Several key frames.
    expect({ id, said: await complaints(url, 90) }).toEqual({ id, said: [] })
  }
  await Promise.all(Object.entries(bodies).map(check))
}, 60_000)
