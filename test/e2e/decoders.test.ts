import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { describe, expect, it, onTestFinished } from 'vitest'
import { startService } from '../helpers/process/service.ts'
import { startRtspSource } from '../helpers/rtsp/source.ts'

const run = promisify(execFile)

/** A decoder says which NAL unit or picture it could not use; the demuxer and the muxer around it say other things. */
const OF_A_DECODER = /^\[(?:h264|hevc) @|corrupt|conceal|decod/i

/** What ffmpeg's demuxer and decoder say, warnings too, while they read so many frames. */
const complaints = async (url: string, frames: number): Promise<readonly string[]> => {
  const args = ['-v', 'warning', '-rtsp_transport', 'tcp', '-i', url, '-map', '0:v', '-frames:v', String(frames), '-f', 'null', '-']
  const { stderr } = await run('ffmpeg', args, { timeout: 40_000, maxBuffer: 16 * 1024 * 1024 })
  return stderr.split('\n').filter((line) => OF_A_DECODER.test(line))
}

describe('the video of a pipeline that encodes', () => {
  it('is decoded by ffmpeg without an error or a warning', async () => {
    const source = await startRtspSource(['--gop-seconds', '0.5'])
    onTestFinished(() => source.stop())
    const service = await startService()
    onTestFinished(async () => {
      await service.stop()
    })
    const small = { width: 320, height: 180, quality: 1, bitrate: 500 }
    const bodies = {
      ball: { source: { uri: 'test://ball?width=640&height=360&fps=30' } },
      'ball-h265': { source: { uri: 'test://ball?width=320&height=180&fps=20' }, encoding: { codec: 'h265', quality: 1, bitrate: 500 } },
      again: { source: { uri: source.url('/h264') }, encoding: { codec: 'h264', ...small } },
      through: { source: { uri: source.url('/h264') } },
    }
    const check = async ([id, body]: readonly [string, object]): Promise<void> => {
      const created = await service.request('POST', '/svc/pipeline', { id, mode: 'simple', ...body })
      expect({ status: created.status, message: created.body.message }).toEqual({ status: 201, message: undefined })
      // Several key frames.
      expect({ id, said: await complaints(created.body.output.uri.replace('0.0.0.0', '127.0.0.1'), 150) }).toEqual({ id, said: [] })
    }
    await Promise.all(Object.entries(bodies).map(check))
  }, 90_000)
})
