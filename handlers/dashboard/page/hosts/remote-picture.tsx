import { signal, useSignal } from '@preact/signals'
import { ApiError, reasonOf } from '../api/api.ts'
import { whileVisible } from '../api/follow.ts'
import { lastPictureOf, storePicture } from '../api/last-pictures.ts'
import { createTurns } from '../cards/turns.ts'
import { Icon } from '../ui/icon.tsx'
import { useAbortable } from '../ui/use-abortable.ts'
import { remoteOf } from './remote.ts'

interface RemotePictureProps {
  readonly host: string
  /** Of the pipeline; undefined when none plays. */
  readonly id: string | undefined
  readonly isVisible: boolean
}

/** Each picture needs a decoder there, and travels over the fleet. */
const REFRESH_MS = 30_000
const RETRY_MS = 10_000
const PICTURE = { width: 480, quality: 60 } as const

/** Why no host may be asked; undefined while none has been refused. */
export const refusedPictures = signal<string | undefined>(undefined)

/** The picture of a pipeline of another host, refreshed while it is visible. */
export const RemotePicture = ({ host, id, isVisible }: RemotePictureProps) => {
  const name = `${host}/${id ?? ''}`
  const url = useSignal(lastPictureOf(name))
  useAbortable(
    (signal) => {
      url.value = lastPictureOf(name)
      if (!isVisible || id === undefined) return
      void whileVisible(signal, () =>
        refreshed({ host, id, signal }, (blob) => {
          url.value = storePicture(name, blob)
        }),
      )
    },
    [name, isVisible],
  )
  return url.value === undefined ? (
    <span class="no-picture">
      <Icon name="camera" />
    </span>
  ) : (
    <img class={id === undefined ? 'old' : ''} src={url.value} alt={`Preview of ${id ?? ''} on ${host}`} />
  )
}

interface Wanted {
  readonly host: string
  readonly id: string
  readonly signal: AbortSignal
}

/** Answers the pause until the next picture, milliseconds; undefined when there will be none. */
const refreshed = ({ host, id, signal }: Wanted, show: (blob: Blob) => void): Promise<number | undefined> =>
  inTurn(async () => {
    if (signal.aborted) return undefined
    try {
      show(await (await remoteOf(host).getSnapshot({ id, ...PICTURE, signal })).blob())
      refusedPictures.value = undefined
      return REFRESH_MS
    } catch (error) {
      if (!isRefusal(error)) return RETRY_MS
      refusedPictures.value = (error as Error).message
      return undefined
    }
  })

const REFUSALS: ReadonlySet<string | undefined> = new Set(['fleet_needs_password', 'fleet_refused'])

const isRefusal = (error: unknown): boolean => error instanceof ApiError && REFUSALS.has(reasonOf(error))

/** A host that does not answer for long keeps one of them. */
const inTurn = createTurns(3)
