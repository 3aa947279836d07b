import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { savePicture } from '../api/commands.ts'
import { type Sound, volume } from '../sound/sound.ts'
import { Action } from '../ui/action.tsx'
import { canFloat, floatPicture } from './picture-in-picture.ts'

interface ControlsProps {
  readonly id: string
  readonly sound: Sound | undefined
  /** The element with the picture, which becomes as large as the screen. */
  readonly player: { readonly current: HTMLElement | null }
}

/** Buttons on a live picture. */
export const Controls = ({ id, player, sound }: ControlsProps) => {
  const isFull = useIsFull(player)
  return (
    <div class="controls">
      {sound !== undefined && sound.level.value !== undefined && <SoundControls sound={sound} level={sound.level.value} />}
      <Action kind="quiet" icon="down" label="Save picture" busyText="Saving" run={() => savePicture(id)}>
        {''}
      </Action>
      {canFloat() && (
        <Action kind="quiet" icon="float" label="Picture in picture" run={() => player.current && floatPicture(player.current)}>
          {''}
        </Action>
      )}
      {document.fullscreenEnabled && (
        <Action
          kind="quiet"
          icon={isFull ? 'close' : 'full'}
          label={isFull ? 'Leave full screen' : 'Full screen'}
          run={() => (isFull ? document.exitFullscreen() : player.current?.requestFullscreen())}
        >
          {''}
        </Action>
      )}
    </div>
  )
}

const SoundControls = ({ sound, level }: { readonly sound: Sound; readonly level: number }) => {
  const isMuted = sound.isMuted.value
  return (
    <div class="sound">
      <meter min={0} max={1} high={0.9} value={level} aria-label="Level of the sound" />
      {!isMuted && (
        <input
          type="range"
          min={0}
          max={1}
          step={0.05}
          value={volume.value}
          aria-label="Volume"
          onInput={({ currentTarget }) => {
            volume.value = Number(currentTarget.value)
          }}
        />
      )}
      <Action
        kind="quiet"
        icon={isMuted ? 'muted' : 'sound'}
        label={isMuted ? 'Turn sound on' : 'Turn sound off'}
        run={() => sound.setMuted(!isMuted)}
      >
        {''}
      </Action>
    </div>
  )
}

const useIsFull = (player: ControlsProps['player']): boolean => {
  const isFull = useSignal(false)
  useEffect(() => {
    const end = new AbortController()
    const look = (): void => {
      isFull.value = player.current !== null && document.fullscreenElement === player.current
    }
    document.addEventListener('fullscreenchange', look, end)
    return () => end.abort()
  }, [])
  return isFull.value
}
