import type { VideoConfig } from '../../../../lib/video-records.ts'
import { cancelDraw, drawInTurn } from './draw-turns.ts'
import type { VideoChunk } from './records.ts'
import type { Screen, ScreenEvents } from './screen.ts'
import { drawSmaller } from './shrink.ts'

/** With more frames waiting for the decoder, everything up to the next key frame is left out. A long GOP that comes at once has fewer. */
const MAX_WAITING = 600
/** A decoder that is behind by more, milliseconds, continues at the next key frame: the picture is live. */
const MAX_BEHIND_MS = 1000
/** Errors in a row after which the decoder is given up. */
const MAX_ERRORS = 3

/** The size at which a frame has its aspect ratio and no more pixels than were sent: the ratio of a stream may be anything. */
const sizeOf = ({ displayWidth, displayHeight, visibleRect }: VideoFrame, maxWidth: number) => {
  const factor = Math.min(
    1,
    maxWidth / displayWidth,
    (visibleRect?.width ?? displayWidth) / displayWidth,
    (visibleRect?.height ?? displayHeight) / displayHeight,
  )
  return { width: Math.max(1, Math.round(displayWidth * factor)), height: Math.max(1, Math.round(displayHeight * factor)) }
}

/** Decodes by WebCodecs and draws each picture as soon as it is decoded. */
export class DecoderScreen implements Screen {
  readonly #canvas: HTMLCanvasElement
  readonly #context: CanvasRenderingContext2D | null
  readonly #events: ScreenEvents
  /** When the data of each frame in the decoder came, by the time of the frame. */
  readonly #arrivals = new Map<number, number>()
  #config: VideoConfig | undefined
  #decoder: VideoDecoder | undefined
  #needsKey = true
  #errors = 0
  #waiting: { readonly frame: VideoFrame; readonly arrived: number | undefined } | undefined
  #drawn = false
  #closed = false
  readonly #maxWidth: number

  /** `maxWidth`: a wider picture is drawn smaller, which costs less. */
  constructor(canvas: HTMLCanvasElement, events: ScreenEvents, maxWidth = Number.POSITIVE_INFINITY) {
    this.#maxWidth = maxWidth
    this.#canvas = canvas
    this.#context = canvas.getContext('2d', { alpha: false, desynchronized: true })
    this.#events = events
  }

  configure(config: VideoConfig): void {
    this.#config = config
    this.#needsKey = true
    this.#open(config)
  }

  show(chunk: VideoChunk): void {
    const isKey = chunk.type === 'key'
    if (this.#decoder === undefined || this.#decoder.state !== 'configured') return
    if (this.#decoder.decodeQueueSize > MAX_WAITING) this.#needsKey = true
    if (this.#needsKey && !isKey) return
    this.#needsKey = false
    if (isKey && this.#config !== undefined && this.#isBehind()) this.#open(this.#config)
    this.#arrivals.set(chunk.timestamp, performance.now())
    try {
      this.#decoder.decode(new EncodedVideoChunk(chunk))
    } catch {
      this.#arrivals.delete(chunk.timestamp)
      // Chromium does not begin at a picture that is refreshed gradually.
      this.#fail('the decoder of this browser refuses the key frames of this stream')
    }
  }

  close(): void {
    this.#closed = true
    cancelDraw(this.#drawWaiting)
    this.#waiting?.frame.close()
    this.#waiting = undefined
    this.#closeDecoder()
  }

  #open(config: VideoConfig): void {
    this.#closeDecoder()
    this.#arrivals.clear()
    this.#decoder = new VideoDecoder({ output: (frame) => this.#take(frame), error: (error) => this.#restart(error) })
    this.#decoder.configure({ ...config, optimizeForLatency: true })
  }

  #closeDecoder(): void {
    if (this.#decoder !== undefined && this.#decoder.state !== 'closed') this.#decoder.close()
    this.#decoder = undefined
  }

  #restart({ message }: DOMException): void {
    this.#decoder = undefined
    if (!this.#fail(`the decoder of this browser failed: ${message}`) && this.#config !== undefined) this.#open(this.#config)
  }

  /** Continues at the next key frame. Returns whether the decoder is given up. */
  #fail(why: string): boolean {
    this.#needsKey = true
    this.#errors += 1
    if (this.#errors >= MAX_ERRORS) this.#events.onFailure(why)
    return this.#errors >= MAX_ERRORS
  }

  #isBehind(): boolean {
    const [oldest] = this.#arrivals.values()
    return oldest !== undefined && performance.now() - oldest > MAX_BEHIND_MS
  }

  /** Draws the first picture at once; of those in one turn of the display, only the last one. */
  #take(frame: VideoFrame): void {
    this.#errors = 0
    const arrived = this.#arrivals.get(frame.timestamp)
    // Pictures come out in the order of their times: older ones do not come any more.
    for (const timestamp of this.#arrivals.keys()) if (timestamp <= frame.timestamp) this.#arrivals.delete(timestamp)
    // A hidden tab has no turns of the display, and its picture may float above other windows.
    if (!this.#drawn || document.hidden) {
      this.#drawn = true
      void this.#draw(frame, arrived)
      return
    }
    this.#waiting?.frame.close()
    this.#waiting = { frame, arrived }
    drawInTurn(this.#drawWaiting)
  }

  readonly #drawWaiting = async (): Promise<void> => {
    const waiting = this.#waiting
    this.#waiting = undefined
    if (waiting !== undefined) await this.#draw(waiting.frame, waiting.arrived)
  }

  async #draw(frame: VideoFrame, arrived: number | undefined): Promise<void> {
    const { width, height } = sizeOf(frame, this.#maxWidth)
    if (this.#canvas.width !== width || this.#canvas.height !== height) Object.assign(this.#canvas, { width, height })
    if (this.#context !== null && width < frame.displayWidth) await drawSmaller(this.#context, frame, width, height)
    else this.#context?.drawImage(frame, 0, 0, width, height)
    const { timestamp } = frame
    frame.close()
    if (this.#closed) return
    this.#events.onPicture(arrived === undefined ? null : performance.now() - arrived, timestamp)
  }
}
