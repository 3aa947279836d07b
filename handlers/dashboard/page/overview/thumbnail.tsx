import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { api } from '../api/api.ts'
import { sleep, untilVisible } from '../api/follow.ts'
import type { Phase } from '../api/types.ts'
import { LivePicture } from '../player/live-picture.tsx'
import { Icon } from '../ui/icon.tsx'

interface ThumbnailProps {
  readonly id: string
  readonly phase: Phase
  readonly isVisible: boolean
  readonly isLive: boolean
}

/** A picture costs the host a decoder for a moment. */
const REFRESH_MS = 20_000
const RETRY_MS = 5000
const WIDTH = 480

/** The last picture, made anew now and then while it is in sight. */
export const Thumbnail = ({ id, phase, isVisible, isLive }: ThumbnailProps) => {
  const url = useSignal(latest.get(id))
  const hasPicture = phase === 'playing'
  useEffect(() => {
    if (!isVisible || !hasPicture) return
    const end = new AbortController()
    void keepPicture(id, end.signal, (blob) => {
      url.value = keep(id, blob)
    })
    return () => end.abort()
  }, [id, isVisible, hasPicture])
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

/** The last picture of each pipeline: whoever comes back to the overview sees it at once. A few kilobytes each. */
const latest = new Map<string, string>()
const MAX_KEPT = 500

const keep = (id: string, blob: Blob): string => {
  const old = latest.get(id)
  latest.delete(id)
  const url = URL.createObjectURL(blob)
  latest.set(id, url)
  if (old !== undefined) URL.revokeObjectURL(old)
  const [oldest] = latest
  if (latest.size > MAX_KEPT && oldest !== undefined) {
    latest.delete(oldest[0])
    URL.revokeObjectURL(oldest[1])
  }
  return url
}

const keepPicture = async (id: string, signal: AbortSignal, show: (blob: Blob) => void): Promise<void> => {
  while (!signal.aborted) {
    await untilVisible(signal)
    const shown = await inTurn(signal, async () => {
      const answer = await api.getSnapshot({ id, width: WIDTH, quality: 70, signal })
      show(await answer.blob())
    })
    await sleep(shown ? REFRESH_MS : RETRY_MS, signal)
  }
}

/** Pictures are asked for two at a time, so that connections stay free for what the user does. */
const AT_ONCE = 2
let running = 0
const waiting: (() => void)[] = []

/** Answers whether the work was done; a pipeline that has just stopped has no picture. */
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
