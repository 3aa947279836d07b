import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { api } from '../api/api.ts'
import type { Camera } from '../api/types.ts'
import { PasswordField, SelectField, TextField } from '../ui/field.tsx'
import { splitAddress, takesCredentials } from '../words/address.ts'
import type { FieldsProps } from './fields-props.ts'

const TEST = 'test://ball?width=1280&height=720'

/** The address of the source with user and password, and a choice of the host's cameras. */
export const SourceField = ({ draft, set, errorOf, touch, isNew }: FieldsProps & { readonly isNew: boolean }) => {
  const leaveAddress = (): void => {
    const { keepsCredentials, ...typed } = splitAddress(draft.uri)
    // Credentials that were pasted with the address get their fields.
    if (typed.uri !== draft.uri && !keepsCredentials) set({ ...typed, keepsCredentials: false })
    touch('source.uri')()
  }
  return (
    <>
      <TextField
        name="Address"
        isCode
        inputMode="url"
        placeholder="rtsp://10.0.0.5/stream1"
        help="For example rtsp, srt, udp, rtmp, http, v4l2 or test."
        value={draft.uri}
        error={errorOf('source.uri')}
        onInput={(uri) => set({ uri })}
        onTouched={leaveAddress}
      />
      {takesCredentials(draft.uri) && <Credentials {...{ draft, set, errorOf, touch }} />}
      <div class="form-row">
        <CameraChoice {...{ draft, set }} />
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

const CameraChoice = ({ draft, set }: Pick<FieldsProps, 'draft' | 'set'>) => {
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
  return cameras.value.length === 0 ? null : (
    <SelectField
      name="Camera of this host"
      value={cameras.value.some((camera) => uriOf(camera) === draft.uri) ? draft.uri : ''}
      onInput={(uri) => set(uri === '' ? { uri } : { uri, codec: draft.codec || 'h264' })}
      options={[['', 'None'], ...cameras.value.map((camera) => [uriOf(camera), camera.device_name] as const)]}
    />
  )
}

const Credentials = ({ draft, set }: FieldsProps) => {
  const placeholder = draft.keepsCredentials ? 'Stored' : ''
  return (
    <div class="form-row">
      <TextField
        name="User"
        placeholder={placeholder}
        help={draft.keepsCredentials ? <Stored forget={() => set({ keepsCredentials: false })} /> : 'Empty if the source needs none.'}
        value={draft.user}
        onInput={(user) => set({ user })}
      />
      <PasswordField
        name="Password"
        placeholder={placeholder}
        autocomplete="off"
        help="It is stored with the address, and never shown again."
        value={draft.password}
        onInput={(password) => set({ password })}
      />
    </div>
  )
}

const Stored = ({ forget }: { readonly forget: () => void }) => (
  <>
    Both are stored, and stay if the fields are empty.{' '}
    <button type="button" class="link" onClick={forget}>
      Remove them
    </button>
  </>
)
