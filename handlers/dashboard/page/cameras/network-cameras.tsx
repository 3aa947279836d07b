import { useSignal } from '@preact/signals'
import { api, wordsOf } from '../api/api.ts'
import type { NetworkCamera } from '../api/types.ts'
import { Action } from '../ui/action.tsx'
import { Banner } from '../ui/banner.tsx'
import { TextField } from '../ui/field.tsx'
import { NetworkCameraPanel } from './network-camera-panel.tsx'

/** The cameras that answer in the networks of the host, when the user asks for them, and those at an address. */
export const NetworkCameras = () => {
  const found = useSignal<readonly NetworkCamera[] | undefined>(undefined)
  const failure = useSignal('')
  const address = useSignal('')
  const added = useSignal<readonly NetworkCamera[]>([])
  const search = async (): Promise<void> => {
    try {
      found.value = await api.searchCameras({ body: {} })
      failure.value = ''
    } catch (error) {
      failure.value = wordsOf(error)
    }
  }
  const add = (): void => {
    const text = address.value.trim()
    const isKnown = added.value.some((camera) => camera.address === text)
    if (text === '' || isKnown) return
    added.value = [{ address: text, name: null, hardware: null, location: null }, ...added.value]
    address.value = ''
  }
  return (
    <>
      <section class="panel" aria-labelledby="network-title">
        <div class="panel-head">
          <h2 id="network-title">In the network</h2>
          <Action kind="primary" icon="search" busyText="Searching" run={search}>
            Search the network
          </Action>
        </div>
        <p class="muted">Finds cameras that speak ONVIF in the networks of this host. Routers do not pass the search on.</p>
        <form
          class="camera-address"
          onSubmit={(event) => {
            event.preventDefault()
            add()
          }}
        >
          <TextField
            name="Address of a camera elsewhere"
            placeholder="10.0.0.5"
            value={address.value}
            onInput={(text) => {
              address.value = text
            }}
          />
          <Action type="submit" icon="plus" disabled={address.value.trim() === ''}>
            Add
          </Action>
        </form>
        <p role="status" class="muted">
          {found.value !== undefined && countOf(found.value.length)}
        </p>
      </section>
      {failure.value !== '' && (
        <Banner>
          <p>{failure.value}</p>
        </Banner>
      )}
      {[...added.value, ...(found.value ?? [])].map((camera) => (
        <NetworkCameraPanel key={camera.address} camera={camera} />
      ))}
    </>
  )
}

const countOf = (count: number): string =>
  count === 0
    ? 'No camera answered. ONVIF may be off in its settings, or it is in another network: enter its address.'
    : `${count} ${count === 1 ? 'camera' : 'cameras'} answered.`
