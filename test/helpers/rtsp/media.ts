import { type Child, startChild } from '../../../engine/gst/child.ts'
import { MediaPipe } from '../../../engine/ingest/media-pipe.ts'
import { RtpStream } from '../../../engine/rtp/stream.ts'
import { Timeline } from '../../../engine/rtp/timeline.ts'
import type { Log } from '../../../lib/ports.ts'

/** 320x240 at 30 fps, a key frame every `keyEvery` frames, payloaded as pay0. */
export const h264Media = (keyEvery = 30, extra = ''): string =>
  `videotestsrc is-live=true pattern=ball ! video/x-raw,format=I420,width=320,height=240,framerate=30/1 ! ` +
  `x264enc tune=zerolatency speed-preset=ultrafast key-int-max=${keyEvery} bitrate=600 ! video/x-h264,profile=baseline ! ` +
  `rtph264pay name=pay0 pt=96 config-interval=-1 ${extra}`

const pipeOf = (fd: number) => `gdppay ! fdsink fd=${fd} sync=false async=false`

export interface Media {
  readonly streams: readonly RtpStream[]
  readonly child: Child
  /** Kills the present child and starts another one for the same streams. */
  restart(afterMs?: number): Promise<void>
  stop(): Promise<void>
}

const runChild = (streams: readonly RtpStream[], branches: readonly string[]): Child => {
  const description = branches.map((branch, at) => `${branch} ! ${pipeOf(3 + at)}`).join('  ')
  const args = description.split(/ +/).filter((part) => part !== '')
  for (const stream of streams) stream.begin()
  const child = startChild('gst-launch-1.0', args, { mediaPipes: branches.length, reach: {} })
  child.stdout.resume()
  child.stderr.resume()
  for (const [at, stream] of streams.entries()) {
    const pipe = new MediaPipe(stream)
    child.media[at]?.on('data', (chunk: Buffer) => pipe.ingest(chunk))
  }
  return child
}

/** Real gst-launch-1.0 children that feed one stream per branch. A branch ends at its payloader, `pay0`, `pay1` … */
export const startMedia = (branches: readonly string[]): Media => {
  const timeline = new Timeline()
  const streams = branches.map(() => new RtpStream({ timeline }))
  let child = runChild(streams, branches)
  const stopChild = async () => {
    child.kill('SIGKILL')
    await child.ended
    for (const stream of streams) stream.end()
  }
  return {
    streams,
    get child() {
      return child
    },
    restart: async (afterMs = 0) => {
      await stopChild()
      await new Promise((resolve) => setTimeout(resolve, afterMs))
      child = runChild(streams, branches)
    },
    stop: stopChild,
  }
}

export const silentLog: Log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }
