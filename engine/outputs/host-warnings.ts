import { X509Certificate } from 'node:crypto'
import { stat } from 'node:fs/promises'
import type { Configuration } from '../../lib/configuration/configuration.ts'
import type { HostWarning } from '../../lib/schema/health.ts'
import { loadCertificate } from '../rtsp/access/certificate.ts'
import { isOwnAddress, isOwnHost } from './own-host.ts'

type Checked = Pick<
  Configuration,
  | 'allowFileSources'
  | 'docsPort'
  | 'mediaServer'
  | 'mediaServerApi'
  | 'outputHost'
  | 'outputPorts'
  | 'outputTlsCert'
  | 'outputTlsKey'
  | 'port'
  | 'profile'
>

/** What is wrong on this host with what the configuration names. It can be mended, and broken again, while the service runs. */
export const readHostWarnings = async (configuration: Checked, now: () => number): Promise<HostWarning[]> => {
  const { outputHost, allowFileSources } = configuration
  const wrong: Readonly<Record<HostWarning, boolean>> = {
    output_address: !isOwnAddress(outputHost),
    output_ports: hasEqualPorts(configuration),
    output_certificate: await isUnusable(configuration, now),
    file_sources_folder: typeof allowFileSources === 'string' && !(await isFolder(allowFileSources)),
  }
  return (Object.keys(wrong) as HostWarning[]).filter((name) => wrong[name])
}

/** Several ports are tried one after the other until one is free; a single one has to be. */
const hasEqualPorts = ({ outputPorts, port, docsPort, profile, mediaServer, mediaServerApi }: Checked): boolean => {
  if (outputPorts.shared !== true) return false
  const used = [port, ...(profile === 'docs' ? [docsPort] : [])]
  if (mediaServerApi !== undefined && isOwnHost(mediaServer.host)) used.push(mediaServer.port)
  return used.includes(outputPorts.first)
}

const isUnusable = async ({ outputTlsCert: cert, outputTlsKey: key }: Checked, now: () => number): Promise<boolean> => {
  if (cert === undefined || key === undefined) return false
  try {
    const loaded = await loadCertificate({ cert, key })
    return new X509Certificate(loaded.cert).validToDate.getTime() < now()
  } catch {
    return true
  }
}

const isFolder = (path: string): Promise<boolean> =>
  stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  )
