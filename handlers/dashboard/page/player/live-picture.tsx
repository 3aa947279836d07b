import { type Signal, useComputed, useSignal, useSignalEffect } from '@preact/signals'
import { useLayoutEffect, useRef } from 'preact/hooks'
import { type PictureFacts, type Playback, takePlayback } from './playback.ts'

interface LivePictureProps {
  readonly id: string
  readonly facts?: Signal<PictureFacts>
  /** Called with the first picture. */
  readonly onPicture?: () => void
}

/** The live picture of a pipeline, as long as it is on the page. */
export const LivePicture = ({ id, facts, onPicture }: LivePictureProps) => {
  const frame = useRef<HTMLDivElement>(null)
  const playback = useSignal<Playback | undefined>(undefined)
  // Before the page is painted: the stream is opened in the meantime.
  useLayoutEffect(() => {
    const own = takePlayback(id)
    frame.current?.replaceChildren(own.element)
    playback.value = own
    return () => {
      own.end()
      if (facts !== undefined) facts.value = {}
    }
  }, [id])
  useSignalEffect(() => {
    if (facts !== undefined && playback.value !== undefined) facts.value = playback.value.facts.value
  })
  const hasPicture = useComputed(() => playback.value?.hasPicture.value === true)
  useSignalEffect(() => {
    if (hasPicture.value) onPicture?.()
  })
  const fault = useComputed(() => playback.value?.fault.value)
  return (
    <div class={`live${hasPicture.value ? ' live-shown' : ''}${fault.value !== undefined ? ' live-old' : ''}`}>
      <div ref={frame} class="live-frame" />
      {fault.value !== undefined && (
        <p class="live-message" role="status">
          {fault.value}
        </p>
      )}
    </div>
  )
}
