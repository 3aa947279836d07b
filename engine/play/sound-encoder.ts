import { type Child, startChild } from '../gst/child.ts'
import { chain, toArguments } from '../gst/element.ts'
import { onLine } from '../gst/on-line.ts'
import { stopAfterError, stopChild } from '../gst/stop-child.ts'
import { ChildPipe } from '../ingest/child-pipe.ts'
import { MediaPipe } from '../ingest/media-pipe.ts'
import { mediaSink } from '../launch/media-sink.ts'
import { decodeSound, encodeSound } from '../launch/sound.ts'
import type { AccessUnit } from '../rtp/access-unit.ts'
import { formatRtpCaps, type RtpCaps } from '../rtp/caps.ts'
import { RtpStream } from '../rtp/stream.ts'
import { piped } from '../sources/demuxers.ts'
import type { RunContext } from './watchdog.ts'

interface SoundEncoding {
  readonly codec: 'aac' | 'opus'
  readonly kbps: number
}

/** Before another process takes the place of one that has ended, milliseconds; doubles up to the second. */
const [RETRY_MS, MAX_RETRY_MS] = [1000, 60_000]

/** Encodes the sound of a run in a process of its own: the picture waits for nothing of it, and goes on without. */
class SoundEncoder {
  /** Takes the packets of the source. No reader joins it. */
  readonly input = new RtpStream({ gop: { bytes: 0 } })
  readonly #encoding: SoundEncoding
  readonly #run: RunContext
  readonly #unsubscribe: () => void
  #child: Child | undefined
  #pipe: ChildPipe | undefined
  #startMs: number | undefined
  #retryMs = RETRY_MS
  #notBeforeMs = Number.NEGATIVE_INFINITY

  constructor(encoding: SoundEncoding, run: RunContext) {
    this.#encoding = encoding
    this.#run = run
    run.streams[2].begin({ caps: null, sure: true })
    this.#unsubscribe = this.input.onUnit((unit) => this.#take(unit))
  }

  /** Resolves when the process is reaped. */
  async close(): Promise<void> {
    this.#unsubscribe()
    if (this.#child !== undefined) await stopChild(this.#child)
    this.#run.streams[2].end()
  }

  #take(unit: AccessUnit): void {
    const { caps } = this.input
    if (caps === undefined) return
    // Times count from the response to PLAY, as those of the picture do.
    this.#startMs ??= this.input.runStartMs
    if (this.#pipe === undefined && unit.arrivedMs >= this.#notBeforeMs) this.#start(caps)
    this.#pipe?.write(unit.packets(), { ms: unit.mediaMs - this.#startMs, caps: () => formatRtpCaps(caps), entry: true })
  }

  #start({ encodingName }: RtpCaps): void {
    const { logRing, number } = this.#run
    const log = (stream: 'engine' | 'stderr', line: string): void => logRing.add(number, stream, line)
    const tokens = chain(piped(), decodeSound(encodingName), encodeSound(this.#encoding), mediaSink(3))
    const child = startChild('gst-launch-1.0', ['--', ...toArguments(tokens)], { mediaPipes: 1, reach: {}, input: true })
    this.#child = child
    stopAfterError(child)
    onLine(child.stdout, (line) => log('engine', `sound: ${line}`))
    onLine(child.stderr, (line) => log('stderr', `sound: ${line}`))
    child.media[0]?.on('error', () => {})
    const media = new MediaPipe(this.#run.streams[2])
    child.media[0]?.on('data', (chunk: Buffer) => this.#ingest(chunk, media, child))
    if (child.stdin !== undefined) this.#pipe = new ChildPipe(child.stdin, () => log('engine', 'the encoder of the sound is too slow'))
    void child.ended.then(() => this.#ended(child))
  }

  #ingest(chunk: Buffer, media: MediaPipe, child: Child): void {
    try {
      media.ingest(chunk)
      this.#retryMs = RETRY_MS
    } catch {
      void stopChild(child)
    }
  }

  #ended(child: Child): void {
    if (this.#child !== child) return
    this.#child = undefined
    this.#pipe = undefined
    this.#notBeforeMs = performance.now() + this.#retryMs
    this.#retryMs = Math.min(2 * this.#retryMs, MAX_RETRY_MS)
    if (!this.#run.signal.aborted)
      this.#run.logRing.add(this.#run.number, 'engine', 'the encoder of the sound has ended; the picture goes on')
  }
}

/** Where the sound of a source goes in a run: encoded first, where it is to be. */
export const openSound = (
  run: RunContext,
  encoding: SoundEncoding | undefined,
): { readonly sink: RtpStream; readonly close: () => Promise<void> } => {
  if (encoding === undefined) return { sink: run.streams[2], close: async () => {} }
  const encoder = new SoundEncoder(encoding, run)
  return { sink: encoder.input, close: () => encoder.close() }
}
