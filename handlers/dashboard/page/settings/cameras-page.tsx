import { api } from '../api/api.ts'
import { cameraChanges } from '../api/pipelines.ts'
import type { Camera } from '../api/types.ts'
import { Action } from '../ui/action.tsx'
import { Banner } from '../ui/banner.tsx'
import { Page } from '../ui/page.tsx'
import { goTo } from '../ui/route.ts'
import { useAbortable } from '../ui/use-abortable.ts'
import { useLoaded } from '../ui/use-loaded.ts'

/** The cameras of the host, updated when one is added or removed. */
export const CamerasPage = () => {
  const { value: cameras, failure, reload } = useLoaded((signal) => api.listCameras({ signal }))
  useAbortable((signal) => void reload(signal), [cameraChanges.value])
  return (
    <Page title="Cameras of this host" isNarrow>
      {failure !== '' && (
        <Banner>
          <p>{failure}</p>
        </Banner>
      )}
      {cameras === undefined && failure === '' && <p class="muted loading">Looking for cameras…</p>}
      {cameras?.length === 0 && (
        <div class="empty">
          <p>No camera is attached. A camera appears here when it is connected.</p>
        </div>
      )}
      <div class="stack">
        {cameras?.map((camera) => (
          <CameraPanel key={camera.device_path} camera={camera} />
        ))}
      </div>
    </Page>
  )
}

const CameraPanel = ({ camera: { device_path, device_name, driver, serial } }: { readonly camera: Camera }) => {
  const { value: capabilities, failure, reload } = useLoaded(() => api.getCamera({ path: device_path }))
  return (
    <section class="panel" aria-label={device_name}>
      <div class="panel-head">
        <h2>{device_name}</h2>
        <Action icon="plus" run={() => goTo(`#/new?uri=${encodeURIComponent(`v4l2://${device_path}`)}`)}>
          New pipeline
        </Action>
      </div>
      <p class="muted">
        <code>{device_path}</code> {[driver, serial].filter(Boolean).join(' · ')}
      </p>
      <details onToggle={({ currentTarget }) => (currentTarget.open ? void reload() : undefined)}>
        <summary>Formats</summary>
        {failure !== '' && <p class="field-error">{failure}</p>}
        {capabilities !== undefined && (
          <table class="table">
            <thead>
              <tr>
                <th scope="col">Format</th>
                <th scope="col">Sizes and frame rates</th>
              </tr>
            </thead>
            <tbody>
              {capabilities.formats.map(({ encoding, sizes, device_path: node }) => (
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
