import { type Signal, useComputed, useSignal, useSignalEffect } from '@preact/signals'
import { useLayoutEffect, useRef } from 'preact/hooks'
import { readLastPicture } from '../api/last-pictures.ts'
import type { Sound } from '../sound/sound.ts'
import { useAbortable } from '../ui/use-abortable.ts'
import { type PictureFacts, type Playback, takePlayback } from './playback.ts'

interface LivePictureProps {
  readonly id: string
  readonly facts?: Signal<PictureFacts>
  /** Whether it comes with sound; it is muted at first. */
  readonly hasSound?: boolean
  readonly sound?: Signal<Sound | undefined>
  /** Whether it comes with KLV, of which `klv` has the packet of the frame that is shown. */
  readonly hasKlv?: boolean
  readonly klv?: Signal<Uint8Array | undefined>
  /** Shown in place of why there is no new picture, such as when the next attempt is. */
  readonly message?: string | undefined
  /** Called with the first picture. */
  readonly onPicture?: () => void
}

/** The live picture of a pipeline, as long as it is on the page. */
export const LivePicture = ({ id, facts, hasSound = false, sound, hasKlv = false, klv, message, onPicture }: LivePictureProps) => {
  const frame = useRef<HTMLDivElement>(null)
  const playback = useSignal<Playback | undefined>(undefined)
  // Before the page is painted: the stream is opened in the meantime.
  useLayoutEffect(() => {
    const own = takePlayback(id, { hasSound, hasKlv })
    frame.current?.replaceChildren(own.element)
    playback.value = own
    if (sound !== undefined) sound.value = own.sound
    return () => {
      own.end()
      if (facts !== undefined) facts.value = {}
      if (sound !== undefined) sound.value = undefined
      if (klv !== undefined) klv.value = undefined
    }
  }, [id, hasSound, hasKlv])
  useSignalEffect(() => {
    if (klv !== undefined && playback.value !== undefined) klv.value = playback.value.klv.value
  })
  useSignalEffect(() => {
    if (facts !== undefined && playback.value !== undefined) facts.value = playback.value.facts.value
  })
  const hasPicture = useComputed(() => playback.value?.hasPicture.value === true)
  useSignalEffect(() => {
    if (hasPicture.value) onPicture?.()
  })
  const fault = message ?? playback.value?.fault.value
  return (
    <div class={`live${hasPicture.value ? ' live-shown' : ''}${fault === undefined ? '' : ' live-old'}`}>
      {fault !== undefined && !hasPicture.value && <LastPicture id={id} />}
      <div ref={frame} class="live-frame" />
      {fault !== undefined && (
        <p class="live-message" role="status">
          {fault}
        </p>
      )}
    </div>
  )
}

/** What the source has shown before it went away. */
const LastPicture = ({ id }: { readonly id: string }) => {
  const url = useSignal<string | undefined>(undefined)
  useAbortable(
    (signal) => {
      const read = async (): Promise<void> => {
        url.value = await readLastPicture(id, signal)
      }
      // Without one, the place stays empty.
      read().catch(() => {})
    },
    [id],
  )
  return url.value === undefined ? null : <img class="live-last" src={url.value} alt={`Last view of ${id}`} />
}
