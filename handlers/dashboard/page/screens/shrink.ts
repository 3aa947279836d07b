type Context = CanvasRenderingContext2D

/** A drawing that takes longer on average is made by the processor, milliseconds. */
const SLOW_MS = 3
const SMOOTHING = 0.2

/** Pixels of the frame that is drawn. */
let bytes = new Uint8ClampedArray(0)
let isCopying = false
/** Of drawings by the browser, milliseconds. */
let usualMs = 0
let canCopy = typeof VideoFrame !== 'undefined' && 'copyTo' in VideoFrame.prototype

/**
 * Draws a frame smaller than it is. Without a GPU a browser converts and scales it three times slower than it copies its pixels: then
 * these are scaled here, each the average of four.
 */
export const drawSmaller = async (context: Context, frame: VideoFrame, width: number, height: number): Promise<void> => {
  if (canCopy && !isCopying && usualMs > SLOW_MS) {
    isCopying = true
    try {
      await drawCopied(context, frame, width, height)
      return
    } catch {
      // A browser that does not convert to RGB.
      canCopy = false
    } finally {
      isCopying = false
    }
  }
  const begun = performance.now()
  context.drawImage(frame, 0, 0, width, height)
  usualMs += (performance.now() - begun - usualMs) * SMOOTHING
}

const drawCopied = async (context: Context, frame: VideoFrame, width: number, height: number): Promise<void> => {
  const { width: fromWidth = 0, height: fromHeight = 0 } = frame.visibleRect ?? {}
  const options: VideoFrameCopyToOptions = { format: 'RGBX', layout: [{ offset: 0, stride: 4 * fromWidth }] }
  const size = 4 * fromWidth * fromHeight
  if (bytes.length < size) bytes = new Uint8ClampedArray(size)
  await frame.copyTo(bytes, options)
  const image = new ImageData(width, height)
  scale(new Uint32Array(bytes.buffer), { width: fromWidth, height: fromHeight }, new Uint32Array(image.data.buffer), { width, height })
  context.putImageData(image, 0, 0)
}

interface Size {
  readonly width: number
  readonly height: number
}

/** Pixels of 4 bytes, of which the last is the opacity. */
const scale = (from: Uint32Array, size: Size, to: Uint32Array, { width, height }: Size): void => {
  const left = steps(width, size.width, 0.25)
  const right = steps(width, size.width, 0.75)
  const top = steps(height, size.height, 0.25)
  const bottom = steps(height, size.height, 0.75)
  let at = 0
  for (let y = 0; y < height; y += 1) {
    const above = (top[y] ?? 0) * size.width
    const below = (bottom[y] ?? 0) * size.width
    for (let x = 0; x < width; x += 1) {
      const [one, other] = [left[x] ?? 0, right[x] ?? 0]
      const upper = average(from[above + one] ?? 0, from[above + other] ?? 0)
      const lower = average(from[below + one] ?? 0, from[below + other] ?? 0)
      to[at] = average(upper, lower) | 0xff000000
      at += 1
    }
  }
}

/** Of each of the four bytes. */
const average = (one: number, other: number): number => (one & other) + (((one ^ other) & 0xfefefefe) >>> 1)

/** Which of `from` places is seen at each of `to`. */
const steps = (to: number, from: number, offset: number): Int32Array =>
  Int32Array.from({ length: to }, (_, at) => Math.min(from - 1, Math.floor(((at + offset) * from) / to)))
