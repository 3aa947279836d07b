import type { VideoConfig } from '../../../../lib/video-records.ts'
import type { VideoChunk } from './records.ts'
import type { Screen, ScreenEvents } from './screen.ts'

/** Beyond this many frames that wait for the decoder, everything up to the next key frame is left out: a long GOP that comes at once has fewer. */
const MAX_WAITING = 600
/** A decoder that is behind by more, milliseconds, goes on at the next key frame: what is shown is live. */
const MAX_BEHIND_MS = 1000
/** Errors in a row after which the decoder is given up. */
const MAX_ERRORS = 3

/** The size at which a frame has its aspect ratio and no more pixels than were sent: the ratio of a stream may be anything. */
const sizeOf = ({ displayWidth, displayHeight, visibleRect }: VideoFrame) => {
  const factor = Math.min(1, (visibleRect?.width ?? displayWidth) / displayWidth, (visibleRect?.height ?? displayHeight) / displayHeight)
  return { width: Math.max(1, Math.round(displayWidth * factor)), height: Math.max(1, Math.round(displayHeight * factor)) }
}

/** Decodes by WebCodecs and draws each picture as soon as it is there. */
export const createDecoderScreen = (canvas: HTMLCanvasElement, { onPicture, onFailure }: ScreenEvents): Screen => {
  const context = canvas.getContext('2d', { alpha: false, desynchronized: true })
  /** When the data of each frame came that the decoder has not shown yet, by its time. */
  const arrivals = new Map<number, number>()
  let config: VideoConfig | undefined
  let decoder: VideoDecoder | undefined
  let needsKey = true
  let errors = 0
  let waiting: { readonly frame: VideoFrame; readonly arrived: number | undefined } | undefined
  let drawn = false
  let turn = 0

  const draw = (frame: VideoFrame, arrived: number | undefined): void => {
    const { width, height } = sizeOf(frame)
    if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, { width, height })
    context?.drawImage(frame, 0, 0, width, height)
    frame.close()
    onPicture(arrived === undefined ? null : performance.now() - arrived)
  }

  const drawWaiting = (): void => {
    turn = 0
    if (waiting !== undefined) draw(waiting.frame, waiting.arrived)
    waiting = undefined
  }

  /** The first picture is drawn at once; of those that come in one turn of the display the last one counts. */
  const onFrame = (frame: VideoFrame): void => {
    errors = 0
    const arrived = arrivals.get(frame.timestamp)
    // Pictures come out in the order of their times: what is older does not come any more.
    for (const timestamp of arrivals.keys()) if (timestamp <= frame.timestamp) arrivals.delete(timestamp)
    if (!drawn) {
      drawn = true
      draw(frame, arrived)
      return
    }
    waiting?.frame.close()
    waiting = { frame, arrived }
    if (turn === 0) turn = requestAnimationFrame(drawWaiting)
  }

  /** Goes on at the next key frame; whether the decoder is given up. */
  const fail = (why: string): boolean => {
    needsKey = true
    errors++
    if (errors >= MAX_ERRORS) onFailure(why)
    return errors >= MAX_ERRORS
  }

  const onError = (error: DOMException): void => {
    decoder = undefined
    if (!fail(`the decoder of this browser failed: ${error.message}`) && config !== undefined) open(config)
  }

  const open = (next: VideoConfig): void => {
    arrivals.clear()
    decoder = new VideoDecoder({ output: onFrame, error: onError })
    decoder.configure({ ...next, optimizeForLatency: true })
  }

  const isBehind = (): boolean => {
    const [oldest] = arrivals.values()
    return oldest !== undefined && performance.now() - oldest > MAX_BEHIND_MS
  }

  const close = (): void => {
    cancelAnimationFrame(turn)
    waiting?.frame.close()
    waiting = undefined
    if (decoder !== undefined && decoder.state !== 'closed') decoder.close()
    decoder = undefined
  }

  return {
    configure: (next) => {
      if (decoder !== undefined && decoder.state !== 'closed') decoder.close()
      config = next
      needsKey = true
      open(next)
    },
    show: (chunk: VideoChunk) => {
      if (decoder === undefined || decoder.state !== 'configured') return
      if (decoder.decodeQueueSize > MAX_WAITING) needsKey = true
      if (needsKey && chunk.type !== 'key') return
      needsKey = false
      if (chunk.type === 'key' && config !== undefined && isBehind()) {
        decoder.close()
        open(config)
      }
      arrivals.set(chunk.timestamp, performance.now())
      try {
        decoder.decode(new EncodedVideoChunk(chunk))
      } catch {
        arrivals.delete(chunk.timestamp)
        // Chromium does not begin at a picture that is refreshed gradually.
        fail('the decoder of this browser refuses the key frames of this stream')
      }
    },
    close,
  }
}
