import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

const FIXTURE = fileURLToPath(new URL('../../fixtures/rtsp-source.py', import.meta.url))

export interface RtspSource {
  readonly port: number
  readonly pid: number
  /** Address of a mount: `/h264`, `/h265`, `/klv`, `/mp2t`, `/jpeg`, `/vp8`, `/av`, `/audio`. */
  url(path: string, userInfo?: string): string
  /** SIGSTOP and SIGCONT: a source that hangs without closing, and continues. */
  pause(): void
  resume(): void
  /** Closes every connection; new ones are accepted. */
  disconnect(): void
  /** Ends it with SIGKILL and waits until it is reaped. */
  stop(): Promise<void>
}

const firstLine = async (child: ChildProcess): Promise<string> => {
  const { stdout } = child
  if (stdout === null) throw new Error('The RTSP source has no stdout')
  const lines = createInterface({ input: stdout })
  for await (const line of lines) return line
  throw new Error('The RTSP source ended before it listened')
}

/** Starts the third-party RTSP source on a free port (or the one given by `--port`); `args` are those of the fixture. */
export const startRtspSource = async (args: readonly string[] = []): Promise<RtspSource> => {
  // The system's Python: the one that has the GObject bindings.
  const child = spawn('/usr/bin/python3', [FIXTURE, ...args], { stdio: ['ignore', 'pipe', 'inherit'] })
  const exited = once(child, 'exit')
  const { port } = JSON.parse(await firstLine(child)) as { port: number }
  return {
    port,
    pid: child.pid ?? 0,
    url: (path, userInfo) => `${args.includes('--tls') ? 'rtsps' : 'rtsp'}://${userInfo ? `${userInfo}@` : ''}127.0.0.1:${port}${path}`,
    pause: () => child.kill('SIGSTOP'),
    resume: () => child.kill('SIGCONT'),
    disconnect: () => child.kill('SIGUSR1'),
    stop: async () => {
      child.kill('SIGKILL')
      await exited
    },
  }
}
