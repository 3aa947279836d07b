import type { AccessUnit, VideoConfig } from './records.ts'
import type { Screen, ScreenEvents } from './screen.ts'

/** Beyond this many frames that wait for the decoder, everything up to the next key frame is left out. */
const MAX_WAITING = 120
/** Errors in a row after which the decoder is given up. */
const MAX_ERRORS = 3

/** Decodes by WebCodecs and draws each picture as soon as it is there. */
export const createDecoderScreen = (canvas: HTMLCanvasElement, { onPicture, onFailure }: ScreenEvents): Screen => {
  const context = canvas.getContext('2d', { alpha: false, desynchronized: true })
  /** When the data of each frame came, by its time. */
  const arrivals = new Map<number, number>()
  let config: VideoConfig | undefined
  let decoder: VideoDecoder | undefined
  let needsKey = true
  let errors = 0
  let waiting: VideoFrame | undefined
  let drawn = false
  let turn = 0

  const draw = (frame: VideoFrame): void => {
    const { displayWidth, displayHeight, timestamp } = frame
    if (canvas.width !== displayWidth || canvas.height !== displayHeight)
      Object.assign(canvas, { width: displayWidth, height: displayHeight })
    context?.drawImage(frame, 0, 0, displayWidth, displayHeight)
    frame.close()
    const arrived = arrivals.get(timestamp)
    onPicture(arrived === undefined ? null : performance.now() - arrived)
  }

  const drawWaiting = (): void => {
    turn = 0
    if (waiting !== undefined) draw(waiting)
    waiting = undefined
  }

  /** The first picture is drawn at once; of those that come in one turn of the display the last one counts. */
  const onFrame = (frame: VideoFrame): void => {
    errors = 0
    if (!drawn) {
      drawn = true
      draw(frame)
      return
    }
    waiting?.close()
    waiting = frame
    if (turn === 0) turn = requestAnimationFrame(drawWaiting)
  }

  const onError = (error: DOMException): void => {
    decoder = undefined
    needsKey = true
    errors++
    if (errors >= MAX_ERRORS) onFailure(`the decoder of this browser failed: ${error.message}`)
    else if (config !== undefined) open(config)
  }

  const open = (next: VideoConfig): void => {
    decoder = new VideoDecoder({ output: onFrame, error: onError })
    decoder.configure({ ...next, optimizeForLatency: true })
  }

  const close = (): void => {
    cancelAnimationFrame(turn)
    waiting?.close()
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
    show: (unit: AccessUnit) => {
      if (decoder === undefined || decoder.state !== 'configured') return
      if (decoder.decodeQueueSize > MAX_WAITING) needsKey = true
      if (needsKey && unit.type !== 'key') return
      needsKey = false
      arrivals.set(unit.timestamp, performance.now())
      for (const [timestamp] of arrivals) if (arrivals.size > 2 * MAX_WAITING) arrivals.delete(timestamp)
      decoder.decode(new EncodedVideoChunk(unit))
    },
    close,
  }
}
