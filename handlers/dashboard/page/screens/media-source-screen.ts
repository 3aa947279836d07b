import JMuxer from 'jmuxer'
import { hasIdr } from './has-idr.ts'
import type { VideoChunk } from './records.ts'
import type { Screen, ScreenEvents } from './screen.ts'

/** A picture that is further behind the received data jumps to BEHIND; seconds. */
const MAX_BEHIND = 0.5
const BEHIND = 0.1
const DEFAULT_INTERVAL_MS = 40
const OPEN_MS = 5000
/** Media Source begins at an IDR picture alone: a stream that has shown none for this long after its first key frame has none; milliseconds. */
const NO_IDR_MS = 3000

/** Puts H.264 into fragments of MP4, one per frame, and plays them by Media Source. */
export const createMediaSourceScreen = async (video: HTMLVideoElement, { onPicture, onFailure }: ScreenEvents): Promise<Screen> => {
  const ready = Promise.withResolvers<void>()
  const muxer = new JMuxer({
    node: video,
    mode: 'video',
    flushingTime: 0,
    maxDelay: MAX_BEHIND * 1000,
    clearBuffer: true,
    onReady: ready.resolve,
    onError: () => onFailure('this browser refuses the stream by Media Source'),
    onUnsupportedCodec: (codec) => onFailure(`this browser does not play ${codec}`),
  })
  // Data is lost before the Media Source is open.
  const timer = setTimeout(() => ready.reject(new Error('Media Source does not open')), OPEN_MS)
  await ready.promise.finally(() => clearTimeout(timer))
  const clock = createDurations()
  let closed = false
  let canBegin = false
  let firstKeyMs: number | undefined
  /** Time of the first chunk, at which the element begins, µs. */
  let begin: number | undefined
  const onFrame = (): void => {
    if (closed) return
    const { buffered, currentTime } = video
    const delayMs = buffered.length === 0 ? null : Math.max(0, (buffered.end(buffered.length - 1) - currentTime) * 1000)
    onPicture(delayMs, begin === undefined ? null : begin + currentTime * 1e6)
    video.requestVideoFrameCallback(onFrame)
  }
  video.requestVideoFrameCallback(onFrame)
  const onError = (): void => onFailure('this browser does not decode the stream by Media Source')
  video.addEventListener('error', onError)
  return {
    // The muxer reads parameter sets from the key frames.
    configure: () => {},
    show: (chunk) => {
      if (chunk.type === 'key' && !canBegin) {
        canBegin = hasIdr(chunk.data)
        firstKeyMs ??= performance.now()
        // However long a busy computer needs for its first picture, it can begin at an IDR.
        if (!canBegin && performance.now() - firstKeyMs > NO_IDR_MS) onFailure('Media Source needs IDR pictures, which this stream lacks')
      }
      begin ??= chunk.timestamp
      // Otherwise the last NAL unit would wait for the next picture: a frame late, and of several slices part of the wrong one.
      muxer.feed({ video: chunk.data, duration: clock(chunk), isLastVideoFrameComplete: true })
      chase(video)
    },
    close: () => {
      closed = true
      video.removeEventListener('error', onError)
      muxer.destroy()
      video.removeAttribute('src')
      video.load()
    },
  }
}

/** Stays at the newest picture: buffered data is delay. */
const chase = (video: HTMLVideoElement): void => {
  const { buffered } = video
  if (buffered.length === 0) return
  const end = buffered.end(buffered.length - 1)
  if (end - video.currentTime > MAX_BEHIND) video.currentTime = end - BEHIND
  // A page may play video without sound; when the browser refuses, the picture stands still.
  if (video.paused) video.play().catch(() => {})
}

/** Whole milliseconds per frame; their sum follows the times of the stream. */
const createDurations = (): ((chunk: VideoChunk) => number) => {
  let first: number | undefined
  let before = 0
  let interval = DEFAULT_INTERVAL_MS
  let sum = 0
  return ({ timestamp }) => {
    const at = timestamp / 1000
    first ??= at
    if (at > before && before > 0 && at - before < 1000) interval = at - before
    before = at
    const duration = Math.max(1, Math.round(at - first + interval - sum))
    sum += duration
    return duration
  }
}
