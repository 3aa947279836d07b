import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'

const FIXTURE = fileURLToPath(new URL('../../fixtures/media-server.py', import.meta.url))

/** A line printed by the media server. */
interface MediaServerLine {
  readonly port?: number
  readonly available?: string
  readonly unavailable?: string
  /** Arguments, exit code and output of a hook that has ended. */
  readonly hook?: readonly string[]
  readonly code?: number
  readonly output?: string
}

export interface MediaServer {
  readonly port: number
  readonly pid: number | undefined
  /** Resolves with the first past or future line that matches. */
  line(matches: (line: MediaServerLine) => boolean): Promise<MediaServerLine>
  /** The address to publish a stream at; readers omit `/in`. */
  publishUrl(path: string): string
  stop(): Promise<void>
}

interface Options {
  /** A free one, unless it is given. */
  readonly port?: number
  /** Command lines as in mediamtx.yml. */
  readonly onAvailable?: string
  readonly onUnavailable?: string
  readonly env?: Record<string, string>
}

/** Starts the third-party media server. */
export const startMediaServer = async (options: Options = {}): Promise<MediaServer> => {
  const args = [
    ...(options.port === undefined ? [] : ['--port', String(options.port)]),
    ...(options.onAvailable === undefined ? [] : ['--on-available', options.onAvailable]),
    ...(options.onUnavailable === undefined ? [] : ['--on-unavailable', options.onUnavailable]),
  ]
  const child = spawn('/usr/bin/python3', [FIXTURE, ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, ...options.env },
  })
  const exited = once(child, 'exit')
  const lines: MediaServerLine[] = []
  const listeners = new Set<() => void>()
  createInterface({ input: child.stdout }).on('line', (text) => {
    lines.push(JSON.parse(text) as MediaServerLine)
    for (const listener of listeners) listener()
  })
  const line: MediaServer['line'] = (matches) =>
    new Promise((resolve, reject) => {
      const check = (): void => {
        const found = lines.find(matches)
        if (found === undefined && child.exitCode === null) return
        listeners.delete(check)
        if (found === undefined) reject(new Error(`The media server ended after ${JSON.stringify(lines)}`))
        else resolve(found)
      }
      listeners.add(check)
      child.once('exit', check)
      check()
    })
  const { port = 0 } = await line((one) => one.port !== undefined)
  return {
    port,
    pid: child.pid,
    line,
    publishUrl: (path) => `rtsp://127.0.0.1:${port}/in/${path}`,
    stop: async () => {
      child.kill('SIGKILL')
      await exited
    },
  }
}

/** The same for the running test, at whose end it stops. */
export const openMediaServer = async (options?: Options): Promise<MediaServer> => {
  const server = await startMediaServer(options)
  onTestFinished(() => server.stop())
  return server
}

export interface Publisher {
  /** Ends the stream with TEARDOWN (SIGINT). */
  unpublish(): Promise<void>
  /** Kills the publisher: the connection closes without TEARDOWN. */
  kill(): Promise<void>
}

/** Publishes a test picture with ffmpeg, by default with a key frame each second. */
export const publishWithFfmpeg = (url: string, size = '640x360', rate = 25, keyEvery = rate): Publisher =>
  publisher(
    spawn(
      'ffmpeg',
      [
        ...['-v', 'error', '-re', '-f', 'lavfi', '-i', `testsrc=size=${size}:rate=${rate}`],
        ...['-c:v', 'libx264', '-tune', 'zerolatency', '-preset', 'ultrafast', '-g', String(keyEvery), '-b:v', '1M'],
        ...['-f', 'rtsp', '-rtsp_transport', 'tcp', url],
      ],
      { stdio: 'ignore' },
    ),
  )

const publisher = (child: ChildProcess): Publisher => {
  const exited = once(child, 'exit')
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    child.kill(signal)
    await exited
  }
  return { unpublish: () => end('SIGINT'), kill: () => end('SIGKILL') }
}

/** Publishes a stream until the end of the test; resolves when the media server has it. */
export const publishTo = async (
  server: MediaServer,
  path: string,
  start: (url: string) => Publisher = publishWithFfmpeg,
): Promise<Publisher> => {
  const started = start(server.publishUrl(path))
  onTestFinished(() => started.kill())
  await server.line(({ available }) => available === path)
  return started
}
