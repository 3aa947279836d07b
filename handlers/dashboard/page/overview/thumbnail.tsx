import { useSignal } from '@preact/signals'
import { api } from '../api/api.ts'
import { whileVisible } from '../api/follow.ts'
import { lastPictureOf, storePicture } from '../api/last-pictures.ts'
import type { Phase } from '../api/types.ts'
import { createTurns } from '../cards/turns.ts'
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
  const url = useSignal(lastPictureOf(id))
  const hasPicture = phase === 'playing'
  useAbortable(
    (signal) => {
      if (!isVisible || !hasPicture) return
      void refreshPicture(id, signal, (blob) => {
        url.value = storePicture(id, blob)
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

const refreshPicture = (id: string, signal: AbortSignal, show: (blob: Blob) => void): Promise<void> =>
  whileVisible(signal, () =>
    inTurn(async () => {
      if (signal.aborted) return RETRY_MS
      try {
        const answer = await api.getSnapshot({ id, width: WIDTH, quality: 70, signal })
        show(await answer.blob())
        return REFRESH_MS
      } catch {
        // A pipeline that has just stopped has no picture.
        return RETRY_MS
      }
    }),
  )

const inTurn = createTurns(2)
