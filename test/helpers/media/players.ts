import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

const run = promisify(execFile)

interface ProbedStream {
  readonly codec_name?: string
  readonly codec_type: string
  readonly width?: number
  readonly height?: number
  readonly avg_frame_rate?: string
}

/** The streams at an address, as ffprobe reports them. */
export const ffprobe = async (url: string, transport: 'tcp' | 'udp' = 'tcp'): Promise<readonly ProbedStream[]> => {
  const { stdout } = await run('ffprobe', ['-v', 'error', '-rtsp_transport', transport, '-show_streams', '-of', 'json', url], {
    timeout: 20_000,
  })
  return (JSON.parse(stdout) as { streams: readonly ProbedStream[] }).streams
}

interface Decoded {
  readonly frames: number
  /** Error messages of ffmpeg, one per line. */
  readonly errors: readonly string[]
}

// The null muxer rounds timestamps to the frame rate and warns when two fall on one tick, as at each key frame of
// gst-rtsp-server, and in the cached GOP of a joining reader, whose timestamps are compressed.
const OF_THE_NULL_MUXER = /^\[null @|^\s*Last message repeated|^\s*$/

/** Reads and decodes a number of frames with ffmpeg. */
export const ffmpegDecode = async (url: string, frames: number, transport: 'tcp' | 'udp' = 'tcp'): Promise<Decoded> => {
  const { stdout, stderr } = await run(
    'ffmpeg',
    [
      '-v',
      'error',
      '-rtsp_transport',
      transport,
      '-i',
      url,
      '-map',
      '0:v',
      '-frames:v',
      String(frames),
      '-progress',
      'pipe:1',
      '-f',
      'null',
      '-',
    ],
    { timeout: 20_000 + frames * 100, maxBuffer: 16 * 1024 * 1024 },
  )
  const counts = [...stdout.matchAll(/^frame=(\d+)$/gm)].map(([, count]) => Number(count))
  return { frames: counts.at(-1) ?? 0, errors: stderr.split('\n').filter((line) => !OF_THE_NULL_MUXER.test(line)) }
}

/** Reads and decodes a number of frames with GStreamer's rtspsrc; rejects when they do not arrive. */
export const gstDecode = async (
  url: string,
  frames: number,
  codec: 'h264' | 'h265',
  properties: readonly string[] = [],
): Promise<number> => {
  const source = ['rtspsrc', `location=${url}`, 'latency=100', ...properties]
  const decode = [
    '!',
    `rtp${codec}depay`,
    '!',
    `avdec_${codec}`,
    '!',
    'fakesink',
    'name=out',
    'silent=false',
    `num-buffers=${frames}`,
    'sync=false',
  ]
  const count = (stdout: string): number => [...stdout.matchAll(/GstFakeSink:out: last-message = chain/g)].length
  const options = { timeout: 20_000 + frames * 100, maxBuffer: 64 * 1024 * 1024 }
  try {
    return count((await run('gst-launch-1.0', ['-v', ...source, ...decode], options)).stdout)
  } catch (error) {
    // At EOS rtspsrc may send a request after its TEARDOWN, on a connection that is closed by then: every frame was decoded before.
    const decoded = count((error as { stdout?: string }).stdout ?? '')
    if (decoded < frames) throw error
    return decoded
  }
}
