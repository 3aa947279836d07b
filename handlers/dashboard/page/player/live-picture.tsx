import { type Signal, useSignal } from '@preact/signals'
import { useLayoutEffect, useRef } from 'preact/hooks'
import { play } from './play.ts'
import type { VideoConfig } from './records.ts'
import type { Choice, Way } from './ways.ts'

/** What is known of the picture while it is shown. */
export interface PictureFacts {
  readonly choice?: Choice | undefined
  readonly config?: VideoConfig | undefined
  /** From the data of a frame to its picture, milliseconds; smoothed. */
  readonly delayMs?: number | undefined
}

interface LivePictureProps {
  readonly id: string
  readonly facts?: Signal<PictureFacts>
  /** Called with the first picture. */
  readonly onFirst?: () => void
}

const FACTS_MS = 500
const SMOOTHING = 0.1

/** The live picture of a pipeline, as long as it is on the page. */
export const LivePicture = ({ id, facts, onFirst }: LivePictureProps) => {
  const canvas = useRef<HTMLCanvasElement>(null)
  const video = useRef<HTMLVideoElement>(null)
  const image = useRef<HTMLImageElement>(null)
  const way = useSignal<Way | undefined>(undefined)
  const trouble = useSignal<string | undefined>(undefined)
  const isSourceAway = useSignal(false)
  const hasPicture = useSignal(false)
  // Before the page is painted: the stream is on its way meanwhile.
  useLayoutEffect(() => {
    if (canvas.current === null || video.current === null || image.current === null) return
    const end = new AbortController()
    let delay: number | undefined
    const tell = (more: PictureFacts): void => {
      if (facts !== undefined) facts.value = { ...facts.peek(), ...more }
    }
    const telling = setInterval(() => tell({ delayMs: delay }), FACTS_MS)
    void play({
      id,
      surfaces: { canvas: canvas.current, video: video.current, image: image.current },
      signal: end.signal,
      onChoice: (choice) => {
        way.value = choice.way
        hasPicture.value = false
        tell({ choice })
      },
      onConfig: (config) => {
        // A stream that is opened again says anew whether its source is there.
        isSourceAway.value = false
        tell({ config })
      },
      onPicture: (ms) => {
        if (ms !== null) delay = delay === undefined ? ms : delay + (ms - delay) * SMOOTHING
        if (hasPicture.value) return
        hasPicture.value = true
        onFirst?.()
      },
      onSource: (isThere) => {
        isSourceAway.value = !isThere
      },
      onTrouble: (text) => {
        trouble.value = text
        if (text !== undefined) delay = undefined
      },
    })
    return () => {
      clearInterval(telling)
      end.abort()
      if (facts !== undefined) facts.value = {}
    }
  }, [id])
  const message = trouble.value ?? (isSourceAway.value ? 'The source is away. The picture comes back by itself.' : undefined)
  return (
    <div class={`live${hasPicture.value ? ' live-shown' : ''}${message !== undefined ? ' live-old' : ''}`}>
      <canvas ref={canvas} hidden={way.value !== 'decoder'} role="img" aria-label={`Live picture of ${id}`} />
      <video ref={video} hidden={way.value !== 'media-source'} muted playsInline aria-label={`Live picture of ${id}`} />
      <img ref={image} hidden={way.value !== 'pictures'} alt={`Latest view of ${id}`} />
      {message !== undefined && (
        <p class="live-message" role="status">
          {message}
        </p>
      )}
    </div>
  )
}
