import { useSignal } from '@preact/signals'
import { api, wordsOf } from '../api/api.ts'
import { pipelines, take } from '../api/pipelines.ts'
import type { CameraStream, CameraStreams, NetworkCamera } from '../api/types.ts'
import { Action } from '../ui/action.tsx'
import { PasswordField, TextField } from '../ui/field.tsx'
import { goTo, pipelineHref } from '../ui/route.ts'
import { joinAddress } from '../words/address.ts'
import { bitrateText, fpsText } from '../words/format.ts'
import { freeId } from '../words/free-id.ts'

/** A camera of the network: asks for its password, shows its streams, and makes a pipeline of one. */
export const NetworkCameraPanel = ({ camera }: { readonly camera: NetworkCamera }) => {
  const user = useSignal('')
  const password = useSignal('')
  const said = useSignal<CameraStreams | undefined>(undefined)
  const failure = useSignal('')
  const host = hostOf(camera.address)
  const title = camera.name ?? camera.hardware ?? host
  const read = async (): Promise<void> => {
    try {
      said.value = await api.readCameraStreams({ body: { address: camera.address, user: user.value, password: password.value } })
      failure.value = ''
    } catch (error) {
      said.value = undefined
      failure.value = wordsOf(error)
    }
  }
  const create = async (stream: CameraStream): Promise<void> => {
    const id = freeId([title, stream.name ?? ''].join(' '), new Set(pipelines.peek().keys()))
    const uri = joinAddress({ uri: stream.uri, user: user.value, password: password.value, keepsCredentials: false })
    const encoding = isPassed(stream) ? {} : { encoding: { codec: 'h264', bitrate: 2000 } as const }
    take(await api.createPipeline({ body: { id, mode: 'simple', source: { uri }, ...encoding } }))
    goTo(pipelineHref(id))
  }
  return (
    <section class="panel" aria-label={title}>
      <div class="panel-head">
        <h3>{title}</h3>
      </div>
      <p class="muted">
        <code>{host}</code> {[said.value?.manufacturer, said.value?.model ?? camera.hardware, camera.location].filter(Boolean).join(' · ')}
      </p>
      <form class="camera-access" onSubmit={(event) => event.preventDefault()}>
        <TextField
          name="User"
          value={user.value}
          onInput={(text) => {
            user.value = text
          }}
        />
        <PasswordField
          name="Password"
          autocomplete="off"
          value={password.value}
          error={failure.value || undefined}
          onInput={(text) => {
            password.value = text
          }}
        />
        <Action type="submit" icon="search" busyText="Asking the camera" run={read}>
          Show streams
        </Action>
      </form>
      {said.value !== undefined && (
        <ul class="camera-streams" aria-label={`Streams of ${title}`}>
          {said.value.streams.length === 0 && <li class="muted">The camera has no streams with video.</li>}
          {said.value.streams.map((stream) => (
            <li key={stream.uri}>
              <span>
                <strong>{stream.name ?? 'Stream'}</strong> {streamText(stream)}
                <br />
                <code class="muted">{stream.uri}</code>
              </span>
              <Action
                kind="primary"
                icon="play"
                busyText="Starting"
                run={() => create(stream)}
                label={`Create and play ${stream.name ?? stream.uri}`}
              >
                Create and play
              </Action>
            </li>
          ))}
        </ul>
      )}
    </section>
  )
}

const PASSED: ReadonlySet<string> = new Set(['h264', 'h265'])

/** A codec that the camera does not name is one that it has just as well passed through. */
const isPassed = ({ codec }: CameraStream): boolean => codec === null || PASSED.has(codec)

/** `H265 · 2560×1440 · 25 fps · 4.1 Mbit/s · sound AAC`. */
const streamText = ({ codec, width, height, fps, bitrate_kbps, audio }: CameraStream): string =>
  [
    codec?.toUpperCase(),
    width !== null && height !== null && `${width}×${height}`,
    fps !== null && fpsText(fps),
    bitrate_kbps !== null && bitrateText(bitrate_kbps),
    audio !== null && `sound ${audio.toUpperCase()}`,
  ]
    .filter(Boolean)
    .join(' · ')

/** Host and port of an address, which may be a host alone. */
const hostOf = (address: string): string => address.replace(/^https?:\/\//, '').split('/')[0] ?? address
