import { useSignal } from '@preact/signals'
import { api } from '../api/api.ts'
import { whileVisible } from '../api/follow.ts'
import type { Phase } from '../api/types.ts'
import { LivePicture } from '../player/live-picture.tsx'
import { Icon } from '../ui/icon.tsx'
import { useAbortable } from '../ui/use-abortable.ts'

interface ThumbnailProps {
  readonly id: string
  readonly phase: Phase
  readonly isVisible: boolean
  readonly isLive: boolean
}

/** Each picture needs a decoder on the host. */
const REFRESH_MS = 20_000
const RETRY_MS = 5000
const WIDTH = 480

/** The last picture, refreshed while it is visible. */
export const Thumbnail = ({ id, phase, isVisible, isLive }: ThumbnailProps) => {
  const url = useSignal(latest.get(id))
  const hasPicture = phase === 'playing'
  useAbortable(
    (signal) => {
      if (!isVisible || !hasPicture) return
      void refreshPicture(id, signal, (blob) => {
        url.value = store(id, blob)
      })
    },
    [id, isVisible, hasPicture],
  )
  return (
    <>
      {url.value === undefined ? (
        <span class="no-picture">
          <Icon name="camera" />
        </span>
      ) : (
        <img class={hasPicture ? '' : 'old'} src={url.value} alt={`Preview of ${id}`} />
      )}
      {isLive && isVisible && hasPicture && <LivePicture id={id} />}
    </>
  )
}

/** The last picture of each pipeline, a few kilobytes each, so that the overview shows them at once. */
const latest = new Map<string, string>()
const MAX_STORED = 500

const store = (id: string, blob: Blob): string => {
  const old = latest.get(id)
  latest.delete(id)
  const url = URL.createObjectURL(blob)
  latest.set(id, url)
  if (old !== undefined) URL.revokeObjectURL(old)
  const [oldest] = latest
  if (latest.size > MAX_STORED && oldest !== undefined) {
    latest.delete(oldest[0])
    URL.revokeObjectURL(oldest[1])
  }
  return url
}

const refreshPicture = (id: string, signal: AbortSignal, show: (blob: Blob) => void): Promise<void> =>
  whileVisible(signal, async () => {
    const isShown = await inTurn(signal, async () => {
      const answer = await api.getSnapshot({ id, width: WIDTH, quality: 70, signal })
      show(await answer.blob())
    })
    return isShown ? REFRESH_MS : RETRY_MS
  })

/** At most two requests at once, so that connections stay free for the user's actions. */
const AT_ONCE = 2
let running = 0
const waiting: (() => void)[] = []

/** Answers whether the work succeeded; a pipeline that has just stopped has no picture. */
const inTurn = async (signal: AbortSignal, work: () => Promise<void>): Promise<boolean> => {
  if (running >= AT_ONCE) await new Promise<void>((resolve) => waiting.push(resolve))
  running++
  try {
    if (signal.aborted) return false
    await work()
    return true
  } catch {
    return false
  } finally {
    running--
    waiting.shift()?.()
  }
}
