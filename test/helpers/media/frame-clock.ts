import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'

/** Bits of the frame number, drawn as black and white columns; the first is the lowest. */
const BITS = 16
const FPS = 30

/** Frames that show their number at 30 fps, as H.264 in MPEG-TS. */
const encode = (keyEvery: number, size: string): readonly string[] => [
  ...'-f lavfi -i'.split(' '),
  // Drawn small and made larger, which takes a host less time.
  `color=c=black:s=320x16:r=${FPS},geq=lum='if(mod(floor(N/pow(2,floor(X/20))),2),235,16)':cb=128:cr=128,scale=${size}:flags=neighbor,setsar=1`,
  ...`-c:v libx264 -preset ultrafast -tune zerolatency -g ${keyEvery} -pix_fmt yuv420p -f mpegts`.split(' '),
]

export interface FrameClock {
  /** Start of ffmpeg, milliseconds since the epoch. */
  readonly startedAt: number
  stop(): Promise<void>
}

/** Sends these frames over UDP in real time; their times begin at that many seconds. */
export const startFrameClock = (port: number, keyEvery: number, beginAt = 0): FrameClock => {
  const args = [
    '-v',
    'error',
    '-re',
    ...encode(keyEvery, '320:240'),
    '-output_ts_offset',
    String(beginAt),
    `udp://127.0.0.1:${port}?pkt_size=1316`,
  ]
  const child: ChildProcess = spawn('ffmpeg', args, { stdio: 'ignore' })
  const exited = once(child, 'exit')
  return {
    startedAt: Date.now(),
    stop: async () => {
      child.kill('SIGKILL')
      await exited
    },
  }
}

/** Writes such frames to a file, for a camera that needs no processor of this host. */
export const recordFrameClock = (file: string, keyEvery: number, size: string, seconds: number): void => {
  execFileSync('ffmpeg', ['-v', 'error', ...encode(keyEvery, size), '-t', String(seconds), '-y', file])
}

const LINE = ['-vf', `scale=${20 * BITS}:16,format=gray`, '-f', 'rawvideo', '-']
const LINE_BYTES = 20 * BITS * 16
const MAX_BYTES = 1024 * 1024 * 1024

const numberIn = (gray: Buffer): number => {
  let frame = 0
  for (let bit = 0; bit < BITS; bit += 1) if ((gray[20 * BITS * 8 + 20 * bit + 10] ?? 0) > 128) frame += 2 ** bit
  return frame
}

/** The frame numbers that the pictures of a file of the clock show, one after the other. */
export const numbersShownIn = (file: string): readonly number[] => {
  const gray = execFileSync('ffmpeg', ['-v', 'error', '-i', file, '-map', '0:v', '-vsync', 'passthrough', ...LINE], {
    maxBuffer: MAX_BYTES,
  })
  return Array.from({ length: gray.length / LINE_BYTES }, (_, at) => numberIn(gray.subarray(at * LINE_BYTES, (at + 1) * LINE_BYTES)))
}

/** The frame number that a screenshot of the clock shows, at any size. */
export const frameShownIn = (jpeg: Buffer): number =>
  numberIn(execFileSync('ffmpeg', ['-v', 'error', '-f', 'mjpeg', '-i', '-', ...LINE], { input: jpeg }))

export const framesPerSecond = FPS
