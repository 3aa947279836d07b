import { api } from '../api/api.ts'
import { cameraChanges, pipelines, take } from '../api/pipelines.ts'
import type { Camera } from '../api/types.ts'
import { Action } from '../ui/action.tsx'
import { Banner } from '../ui/banner.tsx'
import { Page } from '../ui/page.tsx'
import { goTo, pipelineHref } from '../ui/route.ts'
import { useAbortable } from '../ui/use-abortable.ts'
import { useLoaded } from '../ui/use-loaded.ts'
import { freeId } from '../words/free-id.ts'
import { NetworkCameras } from './network-cameras.tsx'

/** The cameras of the host and of its networks. */
export const CamerasPage = () => (
  <Page title="Cameras" isNarrow>
    <div class="stack">
      <NetworkCameras />
      <HostCameras />
    </div>
  </Page>
)

/** Updated when one is added or removed. */
const HostCameras = () => {
  const { value: cameras, failure, reload } = useLoaded((signal) => api.listCameras({ signal }))
  useAbortable((signal) => void reload(signal), [cameraChanges.value])
  return (
    <>
      <h2 class="section-title">Attached to this host</h2>
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
      {cameras?.map((camera) => (
        <CameraPanel key={camera.device_path} camera={camera} />
      ))}
    </>
  )
}

const formOf = (path: string): string => `#/new?uri=${encodeURIComponent(`v4l2://${path}`)}`

/** With the defaults of the form. */
const create = async (name: string, path: string): Promise<void> => {
  const id = freeId(name, new Set(pipelines.peek().keys()))
  const encoding = { codec: 'h264', bitrate: 2000 } as const
  take(await api.createPipeline({ body: { id, mode: 'simple', source: { uri: `v4l2://${path}` }, encoding } }))
  goTo(pipelineHref(id))
}

const CameraPanel = ({ camera: { device_path, device_name, driver, serial } }: { readonly camera: Camera }) => {
  const { value: capabilities, failure, reload } = useLoaded(() => api.getCamera({ path: device_path }))
  return (
    <section class="panel" aria-label={device_name}>
      <div class="panel-head">
        <h3>{device_name}</h3>
        <div class="actions">
          <Action kind="primary" icon="play" busyText="Starting" run={() => create(device_name, device_path)}>
            Create and play
          </Action>
          <Action icon="edit" run={() => goTo(formOf(device_path))}>
            Set up
          </Action>
        </div>
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
