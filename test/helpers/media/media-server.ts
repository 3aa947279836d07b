import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

const FIXTURE = fileURLToPath(new URL('../../fixtures/media-server.py', import.meta.url))

/** A line that the media server printed. */
export interface MediaServerLine {
  readonly port?: number
  readonly available?: string
  readonly unavailable?: string
  /** The arguments of a hook that has ended, its exit code and what it wrote. */
  readonly hook?: readonly string[]
  readonly code?: number
  readonly output?: string
}

export interface MediaServer {
  readonly port: number
  /** Resolves with the first line, of those so far and those to come, that holds. */
  line(holds: (line: MediaServerLine) => boolean): Promise<MediaServerLine>
  /** Where a stream is published; it is read without `/in`. */
  publishUrl(path: string): string
  stop(): Promise<void>
}

export interface Hooks {
  /** Command lines as in mediamtx.yml. */
  readonly onAvailable?: string
  readonly onUnavailable?: string
  readonly env?: Record<string, string>
}

/** Starts the third-party media server on a free port. */
export const startMediaServer = async (hooks: Hooks = {}): Promise<MediaServer> => {
  const args = [
    ...(hooks.onAvailable === undefined ? [] : ['--on-available', hooks.onAvailable]),
    ...(hooks.onUnavailable === undefined ? [] : ['--on-unavailable', hooks.onUnavailable]),
  ]
  const child = spawn('/usr/bin/python3', [FIXTURE, ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, ...hooks.env },
  })
  const exited = once(child, 'exit')
  const lines: MediaServerLine[] = []
  const listeners = new Set<() => void>()
  createInterface({ input: child.stdout }).on('line', (text) => {
    lines.push(JSON.parse(text) as MediaServerLine)
    for (const listener of listeners) listener()
  })
  const line: MediaServer['line'] = (holds) =>
    new Promise((resolve, reject) => {
      const look = (): void => {
        const found = lines.find(holds)
        if (found === undefined && child.exitCode === null) return
        listeners.delete(look)
        if (found === undefined) reject(new Error(`The media server ended after ${JSON.stringify(lines)}`))
        else resolve(found)
      }
      listeners.add(look)
      child.once('exit', look)
      look()
    })
  const { port = 0 } = await line((one) => one.port !== undefined)
  return {
    port,
    line,
    publishUrl: (path) => `rtsp://127.0.0.1:${port}/in/${path}`,
    stop: async () => {
      child.kill('SIGKILL')
      await exited
    },
  }
}

export interface Publisher {
  /** Ends the stream properly (SIGINT, TEARDOWN). */
  unpublish(): Promise<void>
  /** Kills the publisher: the connection is cut, no TEARDOWN. */
  kill(): Promise<void>
}

/** ffmpeg publishes a test picture. */
export const publishWithFfmpeg = (url: string, size = '640x360', rate = 25): Publisher =>
  publisher(
    spawn(
      'ffmpeg',
      [
        ...['-v', 'error', '-re', '-f', 'lavfi', '-i', `testsrc=size=${size}:rate=${rate}`],
        ...['-c:v', 'libx264', '-tune', 'zerolatency', '-preset', 'ultrafast', '-g', String(rate), '-b:v', '1M'],
        ...['-f', 'rtsp', '-rtsp_transport', 'tcp', url],
      ],
      { stdio: 'ignore' },
    ),
  )

/** GStreamer's rtspclientsink publishes the H.264 and the KLV of another RTSP source. */
export const publishWithGstreamer = (url: string, sourceUrl: string): Publisher => {
  const line = `rtspsrc location=${sourceUrl} protocols=tcp latency=0 name=in
    in. ! application/x-rtp,media=video ! rtph264depay ! h264parse ! out.sink_0
    in. ! application/x-rtp,media=application ! rtpklvdepay ! out.sink_1
    rtspclientsink name=out protocols=tcp latency=0 location=${url}`
  return publisher(spawn('gst-launch-1.0', ['-q', ...line.trim().split(/\s+/)], { stdio: 'ignore' }))
}

const publisher = (child: ChildProcess): Publisher => {
  const exited = once(child, 'exit')
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    child.kill(signal)
    await exited
  }
  return { unpublish: () => end('SIGINT'), kill: () => end('SIGKILL') }
}
