import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'
import { fileURLToPath } from 'node:url'

const MOCK = fileURLToPath(new URL('../../fixtures/cameras/camera-mock.py', import.meta.url))

/** The cameras of test/fixtures/cameras/camera-mock.py. */
type MockCamera = 'webcam' | 'onboard' | 'thermal' | 'stepwise' | 'twin-a' | 'twin-b'

export interface CameraMock {
  /** Pid of the mock; the command is its child. */
  readonly pid: number
  readonly stdin: Writable
  readonly stdout: Readable
  /** What the command and the mock have written to stderr. */
  stderr(): string
  /** Plugs a camera in; resolves with the time that began, milliseconds since the epoch. */
  plug(camera: MockCamera): Promise<number>
  unplug(camera: MockCamera): Promise<number>
  /** Makes a camera refuse configuration, as if another program had it open. */
  busy(camera: MockCamera): Promise<number>
  free(camera: MockCamera): Promise<number>
  /** Resolves when a program has read the first frame from the camera. */
  captures(camera: MockCamera): Promise<number>
  /** Ends the command and the mock. */
  close(): Promise<void>
}

/** Runs a command that sees only the mock's video devices, which are plugged in one by one. */
export const startCameraMock = (command: readonly string[], environment: NodeJS.ProcessEnv = {}): CameraMock => {
  // umockdev removes its folder only when it ends by itself, and both the mock and what hangs in it are killed.
  const folder = mkdtempSync(join(tmpdir(), 'camera-mock-'))
  const child = spawn('umockdev-wrapper', ['/usr/bin/python3', MOCK, '--', ...command], {
    stdio: ['pipe', 'pipe', 'pipe', 'pipe', 'pipe'],
    // GStreamer rescans its V4L2 plugin whenever device nodes change, in a helper process that hangs when the mock removes one meanwhile.
    env: { ...process.env, GST_REGISTRY_UPDATE: 'no', TMPDIR: folder, ...environment },
  })
  const [stdin, stdout, stderr, answers, commands] = child.stdio as [Writable, Readable, Readable, Readable, Writable]
  // Not `close`: processes that the command left behind may keep its pipes open.
  const closed = new Promise<void>((resolve) =>
    child.once('exit', () => {
      rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
      resolve()
    }),
  )
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
  const send = (line: string): Promise<number> =>
    new Promise((resolve, reject) => {
      waiting.set(line, { resolve, reject })
      commands.write(`${line}\n`)
    })
  return {
    pid: child.pid ?? 0,
    stdin,
    stdout,
    stderr: () => text,
    plug: (camera) => send(`plug ${camera}`),
    unplug: (camera) => send(`unplug ${camera}`),
    busy: (camera) => send(`busy ${camera}`),
    captures: (camera) => send(`captures ${camera}`),
    free: (camera) => send(`free ${camera}`),
    close: async () => {
      commands.end()
      const timer = setTimeout(() => child.kill('SIGKILL'), 15_000)
      await closed
      clearTimeout(timer)
    },
  }
}
