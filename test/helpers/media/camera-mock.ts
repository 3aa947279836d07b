import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'
import { fileURLToPath } from 'node:url'

const MOCK = fileURLToPath(new URL('../../fixtures/cameras/camera-mock.py', import.meta.url))

/** The cameras of test/fixtures/cameras/camera-mock.py. */
export type MockCamera = 'webcam' | 'onboard' | 'thermal' | 'stepwise' | 'twin-a' | 'twin-b'

export interface CameraMock {
  /** Pid of the mock; the command is its child. */
  readonly pid: number
  readonly stdin: Writable
  readonly stdout: Readable
  /** What the command and the mock wrote to stderr so far. */
  stderr(): string
  /** Does it, and answers when it began, milliseconds since the epoch. */
  plug(camera: MockCamera): Promise<number>
  unplug(camera: MockCamera): Promise<number>
  /** A busy camera refuses to be configured, as one that another program has open. */
  busy(camera: MockCamera): Promise<number>
  free(camera: MockCamera): Promise<number>
  /** Answers when a program has read a first frame from the camera. */
  captures(camera: MockCamera): Promise<number>
  /** Ends the command and the mock. */
  close(): Promise<void>
}

/** Runs a command that sees the mock's video devices and no others; they are plugged in one by one. */
export const startCameraMock = (command: readonly string[], environment: NodeJS.ProcessEnv = {}): CameraMock => {
  const child = spawn('umockdev-wrapper', ['/usr/bin/python3', MOCK, '--', ...command], {
    stdio: ['pipe', 'pipe', 'pipe', 'pipe', 'pipe'],
    // GStreamer reads its plugin for V4L2 anew whenever nodes came or went, in a helper that hangs when the mock takes one away meanwhile.
    env: { ...process.env, GST_REGISTRY_UPDATE: 'no', ...environment },
  })
  const [stdin, stdout, stderr, answers, commands] = child.stdio as [Writable, Readable, Readable, Readable, Writable]
  // Not `close`: what the command left behind may hold its pipes.
  const closed = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  const waiting = new Map<string, { resolve(at: number): void; reject(error: Error): void }>()
  let text = ''
  stderr.setEncoding('utf8').on('data', (more: string) => {
    text += more
  })
  for (const pipe of [stdin, commands]) pipe.on('error', () => {})
  createInterface({ input: answers }).on('line', (line) => {
    const { did, at } = JSON.parse(line) as { did: string; at: number }
    waiting.get(did)?.resolve(at)
    waiting.delete(did)
  })
  child.once('exit', () => {
    for (const { reject } of waiting.values()) reject(new Error(`the camera mock ended: ${text}`))
  })
  const tell = (line: string): Promise<number> =>
    new Promise((resolve, reject) => {
      waiting.set(line, { resolve, reject })
      commands.write(`${line}\n`)
    })
  return {
    pid: child.pid ?? 0,
    stdin,
    stdout,
    stderr: () => text,
    plug: (camera) => tell(`plug ${camera}`),
    unplug: (camera) => tell(`unplug ${camera}`),
    busy: (camera) => tell(`busy ${camera}`),
    captures: (camera) => tell(`captures ${camera}`),
    free: (camera) => tell(`free ${camera}`),
    close: async () => {
      commands.end()
      const timer = setTimeout(() => child.kill('SIGKILL'), 15_000)
      await closed
      clearTimeout(timer)
    },
  }
}
