import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { ENGINE_OPTIONS } from '../../../lib/engine/program-options.ts'

const TICKS_PER_SECOND = Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }))

/** User and system time of a process, seconds. */
export const cpuSeconds = (pid: number): number => {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND
}

/**
 * Three minutes of 1080p30 H.264 High (CABAC, deblocking: what cameras send) at 8 Mbit/s in MPEG-TS, key frame every 2 s: a minute, three
 * times; made once.
 */
export const encodedStream = (): string => {
  const file = join(tmpdir(), 'video-pipeline-bench-1080p30-8mbit-high-180s.ts')
  if (!existsSync(file)) {
    const minute = `${file}.minute`
    const source = 'testsrc2=size=1920x1080:rate=30,noise=alls=20:allf=t'
    const coding =
      '-t 60 -c:v libx264 -preset veryfast -tune zerolatency -profile:v high -b:v 8M -minrate 8M -maxrate 8M -bufsize 4M -g 60 -pix_fmt yuv420p -f mpegts'
    execFileSync('ffmpeg', ['-v', 'error', '-f', 'lavfi', '-i', source, ...coding.split(' '), '-y', minute])
    execFileSync('ffmpeg', ['-v', 'error', '-stream_loop', '2', '-i', minute, '-c', 'copy', '-f', 'mpegts', '-y', file])
    rmSync(minute)
  }
  return file
}

/** Sends that stream in real time as RTP to a UDP port: a live source, which counts for no server. */
export const startSource = async (port: number): Promise<Program> => {
  const line = `filesrc location=${encodedStream()} ! tsdemux ! h264parse ! rtph264pay pt=96 config-interval=-1 ! udpsink host=127.0.0.1 port=${port} buffer-size=4000000`
  const source = start('gst-launch-1.0', line.split(' '))
  await source.until((lines) => lines.some((text) => text.includes('PLAYING')))
  return source
}

/** Takes the source's stream and payloads it as pay0. */
export const sourceLine = (port: number): string =>
  `udpsrc port=${port} buffer-size=4000000 caps=application/x-rtp,media=video,clock-rate=90000,encoding-name=H264,payload=96 ! ` +
  'rtph264depay ! h264parse ! rtph264pay name=pay0 pt=96 config-interval=-1'

export interface Program {
  readonly process: ChildProcess
  readonly pid: number
  /** Lines of standard output so far. */
  readonly lines: readonly string[]
  until(condition: (lines: readonly string[]) => boolean): Promise<void>
  stop(): Promise<void>
}

/** Starts a program and reads its lines. */
export const start = (file: string, args: readonly string[]): Program => {
  const child = spawn(file, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  const lines: string[] = []
  const watchers = new Set<() => void>()
  const reader = createInterface({ input: child.stdout })
  reader.on('line', (line) => {
    lines.push(line)
    for (const watcher of [...watchers]) watcher()
  })
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  return {
    process: child,
    pid: child.pid ?? 0,
    lines,
    until: (condition) =>
      new Promise((resolve, reject) => {
        const watcher = () => {
          if (!condition(lines)) return
          watchers.delete(watcher)
          resolve()
        }
        watchers.add(watcher)
        void ended.then(() => reject(new Error(`${file} ended`)))
        watcher()
      }),
    stop: async () => {
      child.kill('SIGTERM')
      await ended
    },
  }
}

/** Serves that stream over RTSP in packets of `packetBytes` at most; its media begins with the first reader. */
export const startRtspFeed = (port: number, packetBytes = 1400): Promise<Server> =>
  startServer(
    'gst-rtsp-server',
    port,
    `filesrc location=${encodedStream()} ! tsdemux ! h264parse ! rtph264pay name=pay0 pt=96 config-interval=-1 mtu=${packetBytes}`,
  )

/** Reads an RTSP source and payloads it as pay0, with nothing that the job does not need. */
export const rtspLine = (url: string): string =>
  `rtspsrc location=${url} protocols=tcp latency=0 ! rtph264depay ! rtph264pay name=pay0 pt=96`

export const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

/** The value below which a part of the values lies. */
export const quantile = (values: readonly number[], part: number): number => {
  const sorted = [...values].sort((one, other) => one - other)
  return sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))] ?? Number.NaN
}

export interface Server {
  readonly url: string
  /** All processes whose CPU time is the server's. */
  readonly pids: readonly number[]
  stop(): Promise<void>
}

const HERE = import.meta.dirname

/** What serves a stream: the publisher or gst-rtsp-server with a description; an RTSP source that passes through. */
export type ServerKind = 'publisher' | 'gst-rtsp-server' | 'engine'

/** Starts a server. `description`: for `engine` the address of the source. `count`: gst-rtsp-server serves as many, `bench-0` and so on. */
export const startServer = async (kind: ServerKind, port: number, description: string, count?: number): Promise<Server> => {
  const program =
    kind !== 'gst-rtsp-server'
      ? start(process.execPath, [
          ...ENGINE_OPTIONS,
          join(HERE, kind === 'publisher' ? 'rtsp-server.ts' : 'rtsp-passthrough.ts'),
          ...[String(port), 'bench', description],
        ])
      : start('/usr/bin/python3', [
          join(HERE, '../../fixtures/gst-rtsp-server.py'),
          String(port),
          'bench',
          description,
          ...(count === undefined ? [] : [String(count)]),
        ])
  await program.until((lines) => lines.some((line) => line.startsWith('ready')))
  return { url: `rtsp://127.0.0.1:${port}/bench`, pids: [program.pid], stop: program.stop }
}
