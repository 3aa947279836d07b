import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { expect, onTestFinished } from 'vitest'

/** A program that receives what a pipeline pushes. */
export interface Receiver {
  readonly child: ChildProcess
  /** Resolves to its exit code and what it printed, when it has ended. */
  readonly ended: Promise<{ readonly code: number | null; readonly stdout: string; readonly stderr: string }>
  /** What it has printed to stdout so far. */
  printed(): string
  kill(): Promise<void>
}

/** Starts a receiver; it is killed at the end of the test. */
export const startReceiver = (file: string, args: readonly string[]): Receiver => {
  const child = spawn(file, args, { stdio: ['ignore', 'pipe', 'pipe'] })
  const exited = once(child, 'exit')
  let [stdout, stderr] = ['', '']
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text
  })
  const kill = async (): Promise<void> => {
    child.kill('SIGKILL')
    await exited
  }
  onTestFinished(kill)
  return { child, ended: once(child, 'close').then(() => ({ code: child.exitCode, stdout, stderr })), printed: () => stdout, kill }
}

/** Of FLV and MPEG-TS ffmpeg looks at 5 s before it begins, because another stream might come. */
const LOOKS_AT = ['-analyzeduration', '1000000'] as const

/** Decodes so many frames of an input; its stderr has what ffmpeg complains about. */
export const decodeFrames = (input: readonly string[], frames: number): Receiver =>
  startReceiver('ffmpeg', [
    ...['-nostdin', '-v', 'error', '-progress', 'pipe:1', ...LOOKS_AT, ...input],
    ...['-map', '0:v', '-frames:v', String(frames), '-enc_time_base', '1:90000', '-fps_mode', 'passthrough', '-f', 'null', '-'],
  ])

/** The receiver has decoded all frames, and ffmpeg complained about none of them. */
export const expectDecoded = async (name: string, receiver: Receiver, expected: number): Promise<void> => {
  const { code, stdout, stderr } = await receiver.ended
  // The server that is published to gives the times anew, sometimes the same to two pictures; only the muxer of ffmpeg minds.
  const complaints = stderr.split('\n').filter((line) => line !== '' && !/non monotonically increasing dts to muxer/.test(line))
  const frames = Number(/frame=(\d+)\n(?![\s\S]*frame=)/.exec(stdout)?.[1])
  expect({ name, code, frames, complaints }).toEqual({ name, code: 0, frames: expected, complaints: [] })
}

/** Writes the MPEG-TS as it comes into a file. */
export const saveStream = (source: string, file: string): Receiver =>
  startReceiver('gst-launch-1.0', ['-q', ...source.split(' '), '!', 'filesink', `location=${file}`, 'buffer-mode=unbuffered'])
