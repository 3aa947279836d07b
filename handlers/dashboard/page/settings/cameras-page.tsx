import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { api, wordsOf } from '../api/api.ts'
import { cameraChanges } from '../api/pipelines.ts'
import type { Camera, CameraCapabilities } from '../api/types.ts'
import { Action } from '../ui/action.tsx'
import { Icon } from '../ui/icon.tsx'
import { goTo } from '../ui/route.ts'

/** The cameras of the host, as they come and go. */
export const CamerasPage = () => {
  const cameras = useSignal<readonly Camera[] | undefined>(undefined)
  const failure = useSignal('')
  useEffect(() => {
    const end = new AbortController()
    const load = async (): Promise<void> => {
      try {
        cameras.value = await api.listCameras({ signal: end.signal })
        failure.value = ''
      } catch (error) {
        if (!end.signal.aborted) failure.value = wordsOf(error)
      }
    }
    void load()
    return () => end.abort()
  }, [cameraChanges.value])
  return (
    <div class="page page-narrow">
      <div class="head">
        <h1>Cameras of this host</h1>
      </div>
      {failure.value !== '' && (
        <div class="banner banner-bad" role="alert">
          <Icon name="alert" />
          <p>{failure.value}</p>
        </div>
      )}
      {cameras.value === undefined && failure.value === '' && <p class="muted loading">Looking for cameras…</p>}
      {cameras.value?.length === 0 && (
        <div class="empty">
          <p>No camera is attached. Plug one in: it appears here by itself.</p>
        </div>
      )}
      <div class="stack">
        {cameras.value?.map((camera) => (
          <CameraPanel key={camera.device_path} camera={camera} />
        ))}
      </div>
    </div>
  )
}

const CameraPanel = ({ camera: { device_path, device_name, driver, serial } }: { readonly camera: Camera }) => {
  const offers = useSignal<CameraCapabilities | undefined>(undefined)
  const failure = useSignal('')
  const load = async (): Promise<void> => {
    try {
      offers.value = await api.getCamera({ path: device_path })
    } catch (error) {
      failure.value = wordsOf(error)
    }
  }
  return (
    <section class="panel" aria-label={device_name}>
      <div class="panel-head">
        <h2>{device_name}</h2>
        <Action icon="plus" run={() => goTo(`#/new?uri=${encodeURIComponent(`v4l2://${device_path}`)}`)}>
          Use it
        </Action>
      </div>
      <p class="muted">
        <code>{device_path}</code> {[driver, serial].filter(Boolean).join(' · ')}
      </p>
      <details onToggle={({ currentTarget }) => (currentTarget.open ? void load() : undefined)}>
        <summary>What it offers</summary>
        {failure.value !== '' && <p class="field-error">{failure.value}</p>}
        {offers.value !== undefined && (
          <table class="table">
            <thead>
              <tr>
                <th scope="col">Format</th>
                <th scope="col">Sizes and frame rates</th>
              </tr>
            </thead>
            <tbody>
              {offers.value.formats.map(({ encoding, sizes, device_path: node }) => (
                <tr key={`${node} ${encoding}`}>
                  <td>{encoding}</td>
                  <td>
                    {sizes
                      .map(({ width, height, frame_rates }) => `${width}×${height} at ${frame_rates.join(', ') || 'any'} fps`)
                      .join('; ')}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        )}
      </details>
    </section>
  )
}
