import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { api } from '../api/api.ts'
import type { Camera } from '../api/types.ts'
import { SelectField, TextField } from '../ui/field.tsx'
import type { FieldsProps } from './fields-props.ts'

const TEST = 'test://ball?width=1280&height=720'

/** The address of the source, with a choice of the host's cameras. */
export const SourceField = ({ draft, set, errorOf, touch, isNew }: FieldsProps & { readonly isNew: boolean }) => {
  const cameras = useSignal<readonly Camera[]>([])
  useEffect(() => {
    api
      .listCameras()
      .then((found) => {
        cameras.value = found
      })
      // On a host without camera discovery, the address can be typed.
      .catch(() => {})
  }, [])
  const uriOf = ({ device_path }: Camera): string => `v4l2://${device_path}`
  const chosen = cameras.value.some((camera) => uriOf(camera) === draft.uri) ? draft.uri : ''
  return (
    <>
      <TextField
        name="Source"
        isCode
        inputMode="url"
        placeholder="rtsp://user:password@10.0.0.5/stream1"
        help="For example rtsp, srt, udp, rtmp, http, v4l2 or test. User and password are part of the address, and are never shown again."
        value={draft.uri}
        error={errorOf('source.uri')}
        onInput={(uri) => set({ uri })}
        onTouched={touch('source.uri')}
      />
      <div class="form-row">
        {cameras.value.length > 0 && (
          <SelectField
            name="Camera of this host"
            value={chosen}
            onInput={(uri) => set(uri === '' ? { uri } : { uri, codec: draft.codec || 'h264' })}
            options={[['', 'None'], ...cameras.value.map((camera) => [uriOf(camera), camera.device_name] as const)]}
          />
        )}
        <TextField
          name="Jitter buffer"
          unit="ms"
          inputMode="numeric"
          value={draft.latency}
          error={errorOf('source.latency_ms')}
          onInput={(latency) => set({ latency })}
          onTouched={touch('source.latency_ms')}
        />
      </div>
      {isNew && (
        <p class="field-help">
          No camera at hand?{' '}
          <button type="button" class="link" onClick={() => set({ uri: TEST, id: draft.id || 'first' })}>
            Use the test picture
          </button>
        </p>
      )}
    </>
  )
}
