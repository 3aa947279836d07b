import { useSignal } from '@preact/signals'
import { useRef } from 'preact/hooks'
import { api, wordsOf } from '../api/api.ts'
import { useAbortable } from '../ui/use-abortable.ts'
import type { Span } from './view.ts'

/** What is loaded at once, milliseconds: the next part is loaded while one is played. */
const PART_MS = 20_000

interface RecordedVideoProps {
  readonly id: string
  /** Where it begins. */
  readonly from: number
  /** The recorded range that is played. */
  readonly span: Span
  readonly onMoment: (at: number) => void
  readonly onEnd: () => void
}

interface Part extends Span {
  readonly url: string
}

/** Plays a recording with its sound, part by part: each is a whole MP4. */
export const RecordedVideo = (props: RecordedVideoProps) => {
  const { from, onMoment } = props
  const { part, failure, showNext } = useParts(props)
  if (failure.value !== '') return <p class="field-error">{failure.value}</p>
  return (
    <video
      aria-label="Recorded video"
      src={part.value?.url}
      autoplay
      controls
      playsInline
      onTimeUpdate={({ currentTarget }) => {
        // A part begins with the key frame before its time: its end is exact.
        const { from: begin, to } = part.peek() ?? { from, to: from }
        const left = currentTarget.duration - currentTarget.currentTime
        if (Number.isFinite(left)) onMoment(Math.max(begin, to - left * 1000))
      }}
      onLoadedMetadata={({ currentTarget }) => {
        const { from: begin, to } = part.peek() ?? { from, to: from }
        currentTarget.currentTime = Math.max(0, currentTarget.duration - (to - begin) / 1000)
      }}
      onEnded={showNext}
    >
      <track kind="captions" />
    </video>
  )
}

/** Loads part by part. */
const useParts = ({ id, from, span, onEnd }: RecordedVideoProps) => {
  const part = useSignal<Part | undefined>(undefined)
  const next = useRef<Promise<Part | undefined> | undefined>(undefined)
  const urls = useRef(new Set<string>())
  const failure = useSignal('')
  const load = async (begin: number, signal: AbortSignal): Promise<Part | undefined> => {
    const to = Math.min(begin + PART_MS, span.to)
    if (to - begin < 1) return undefined
    const range = { id, from: new Date(begin).toISOString(), to: new Date(to).toISOString() }
    const url = URL.createObjectURL(await (await api.getRecordingAsMp4({ ...range, signal })).blob())
    urls.current.add(url)
    return { from: begin, to, url }
  }
  const end = useRef(new AbortController())
  const show = async (loading: Promise<Part | undefined>): Promise<void> => {
    try {
      const loaded = await loading
      if (loaded === undefined) return onEnd()
      release(urls.current, part.peek()?.url)
      part.value = loaded
      next.current = load(loaded.to, end.current.signal)
      // Its failure is shown when its turn comes.
      next.current.catch(() => {})
    } catch (error) {
      if (!end.current.signal.aborted) failure.value = wordsOf(error)
    }
  }
  useAbortable(
    (signal) => {
      end.current = new AbortController()
      signal.addEventListener('abort', () => {
        end.current.abort()
        for (const url of urls.current) URL.revokeObjectURL(url)
        urls.current.clear()
      })
      void show(load(from, signal))
    },
    [id, from],
  )
  return { part, failure, showNext: () => void show(next.current ?? Promise.resolve(undefined)) }
}

const release = (urls: Set<string>, url: string | undefined): void => {
  if (url === undefined) return
  URL.revokeObjectURL(url)
  urls.delete(url)
}
