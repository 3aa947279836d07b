import { join } from 'node:path'
import type { Configuration } from '../../lib/configuration/configuration.ts'
import { LICENSE_ADVICE } from '../../lib/license/license.ts'
import { painter, type TextStyle, terminalStyle } from '../../lib/log/log-text.ts'
import { printable } from '../../lib/log/printable.ts'
import type { Log } from '../../lib/ports.ts'
import packageJson from '../../package.json' with { type: 'json' }
import { reachableUrl } from './server/listen.ts'
import type { Service } from './service.ts'
import { API_KEY_FILE } from './storage/data-directory.ts'

interface Start {
  readonly configuration: Configuration
  readonly service: Service
  readonly log: Log
  readonly url: string
  readonly docsUrl: string | undefined
}

/** Reports addresses and folders: a line of the log, and on a terminal a banner. The key itself is never shown. */
export const reportStart = async (start: Start): Promise<void> => {
  const { log, url, docsUrl, service } = start
  await reportLicense(start)
  const style = terminalStyle(process.stderr, process.env)
  const gstreamer = await gstreamerVersion(service)
  const api_key_in = keyPlace(start)
  const where = {
    url,
    ...(docsUrl !== undefined && { docs_url: docsUrl }),
    version: packageJson.version,
    data_dir: service.dataDir,
    api_key_in,
  }
  // On a terminal the banner has the rest.
  log.info('service_ready', {
    ...(style === undefined && { ...where, gstreamer_version: gstreamer ?? null }),
    start_ms: Math.round(performance.now()),
  })
  if (style !== undefined) process.stderr.write(banner(rowsOf(start, gstreamer), style))
}

const keyPlace = ({ configuration, service }: Start): string =>
  configuration.apiKey === undefined ? join(service.dataDir, API_KEY_FILE) : 'SVC_API_KEY'

/** With these, every start of a pipeline answers 402. */
const reportLicense = async ({ configuration: { licenseFile }, service, log }: Start): Promise<void> => {
  const { status } = await service.deps.licensing.state()
  if (status !== 'expired' && status !== 'unreadable') return
  log.warn(`license_${status}`, { file: licenseFile, reason: await service.deps.licensing.fault(), advice: LICENSE_ADVICE })
}

const gstreamerVersion = async ({ deps }: Service): Promise<string | undefined> => {
  const status = await deps.engine.status().catch(() => undefined)
  return status?.gstreamer_version ?? undefined
}

interface Row {
  readonly label: string
  readonly text: string
  readonly kind?: 'link' | 'fault'
}

const rowsOf = (start: Start, gstreamer: string | undefined): readonly Row[] => [
  ...(start.configuration.dashboard ? [{ label: 'Dashboard', text: `${reachableUrl(start.url)}/`, kind: 'link' } as const] : []),
  { label: 'API', text: reachableUrl(start.url), kind: 'link' },
  ...(start.docsUrl === undefined ? [] : [{ label: 'API docs', text: reachableUrl(start.docsUrl), kind: 'link' } as const]),
  { label: 'API key', text: keyPlace(start) },
  { label: 'Data', text: start.service.dataDir },
  gstreamer === undefined
    ? { label: 'Engine', text: 'not available; see the log, and run `video-pipeline-service doctor`', kind: 'fault' }
    : { label: 'Engine', text: `GStreamer ${gstreamer}${start.configuration.engineUrl === undefined ? '' : ', on another host'}` },
]

const banner = (rows: readonly Row[], style: TextStyle): string => {
  const { bold, dim, cyan, yellow } = painter(style)
  const width = Math.max(...rows.map(({ label }) => label.length))
  const paint = { link: cyan, fault: yellow, plain: (text: string) => text } as const
  const lines = rows.map(({ label, text, kind }) => `  ${dim(label.padEnd(width))}  ${paint[kind ?? 'plain'](printable(text))}`)
  return ['', `  ${bold(`Video Pipeline Service ${packageJson.version}`)}`, '', ...lines, '', `  ${dim('Ctrl-C stops it.')}`, '', ''].join(
    '\n',
  )
}
