import { accessSync, constants, existsSync, readdirSync, readFileSync, statfsSync } from 'node:fs'
import { createServer } from 'node:net'
import { dirname, join, resolve } from 'node:path'
import type { Configuration } from '../../../lib/configuration/configuration.ts'
import type { Finding } from './report.ts'

const MIN_NODE = 24
const MIN_FREE_BYTES = 1024 ** 3
/** With less nothing can be stored for long. */
const LEAST_FREE_BYTES = 16 * 1024 ** 2
/** Each pipeline and reader needs a few. */
const MIN_OPEN_FILES = 4096
/** A host without a battery for its clock begins in the past; nothing of this service is older. */
const EARLIEST_TIME = Date.parse('2025-01-01')
/** As /svc/version names the service. */
const PRODUCT = 'video-pipeline-service'
/** How long a program at the port of the API may take to say what it is. */
const ANSWER_MS = 2000
/** How many ports of the range are checked. */
const PORT_SAMPLE = 20

/** Checks Node.js, ports, directories, disk and devices. */
export const checkHost = async (configuration: Configuration): Promise<readonly Finding[]> => [
  checkNode(process.versions.node),
  await checkApiPort(configuration),
  await checkOutputPorts(configuration),
  checkDirectory(configuration.dataDir),
  checkDisk(configuration.dataDir),
  checkOpenFiles(),
  checkClock(Date.now()),
  ...checkDevices('cameras', '/dev', /^video\d+$/, 'video'),
  ...checkDevices('graphics', '/dev/dri', /^renderD\d+$/, 'render'),
]

const checkNode = (version: string): Finding =>
  Number.parseInt(version, 10) >= MIN_NODE
    ? { name: 'Node.js', status: 'ok', message: version }
    : { name: 'Node.js', status: 'failed', message: version, advice: `use Node.js ${MIN_NODE} or later` }

/** The code of the error of listening on a port, undefined when the port is free. */
const bindError = (host: string, port: number): Promise<string | undefined> =>
  new Promise((done) => {
    const probe = createServer()
    probe.once('error', (error: NodeJS.ErrnoException) => done(error.code ?? error.message))
    probe.listen({ host, port, exclusive: true }, () => probe.close(() => done(undefined)))
  })

/** Whether it is this service that listens there. */
const isService = async (host: string, port: number): Promise<boolean> => {
  const reachable = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '[::1]' : host.includes(':') ? `[${host}]` : host
  try {
    const response = await fetch(`http://${reachable}:${port}/svc/version`, { signal: AbortSignal.timeout(ANSWER_MS), redirect: 'error' })
    const version = (await response.json()) as { readonly name?: unknown } | null
    return version?.name === PRODUCT
  } catch {
    return false
  }
}

const checkApiPort = async ({ host, port }: Configuration): Promise<Finding> => {
  const name = 'port of the API'
  const error = await bindError(host, port)
  if (error === undefined) return { name, status: 'ok', message: `${host}:${port} is free` }
  if (error === 'EADDRINUSE' && (await isService(host, port))) return { name, status: 'ok', message: `${host}:${port}: the service runs` }
  const advice =
    error === 'EADDRINUSE'
      ? 'another program uses this port; set SVC_PORT to another one'
      : 'set SVC_HOST and SVC_PORT to an address of this host and a permitted port'
  return { name, status: 'warning', message: `${host}:${port} cannot be used (${error})`, advice }
}

const checkOutputPorts = async ({ outputHost, outputPorts: { first, last, shared } }: Configuration): Promise<Finding> => {
  const name = 'ports of outputs'
  const ports = Array.from({ length: Math.min(PORT_SAMPLE, last - first + 1) }, (_, index) => first + index)
  const free = (await Promise.all(ports.map((port) => bindError(outputHost, port)))).filter((error) => error === undefined).length
  const message = `${free} of the first ${ports.length} ports of ${first}-${last} are free`
  if (shared && free === 0) {
    const advice = 'if the service is not running yet, another program uses this port; set SVC_OUTPUT_PORTS to another one'
    return { name, status: 'warning', message: `${outputHost}:${first} is in use`, advice }
  }
  return free > 0
    ? { name, status: 'ok', message }
    : { name, status: 'failed', message, advice: 'set SVC_OUTPUT_PORTS to a range of free ports' }
}

/** The directory, or its nearest parent that exists. */
const nearestExisting = (path: string): string => {
  let at = resolve(path)
  while (!existsSync(at) && at !== dirname(at)) at = dirname(at)
  return at
}

const checkDirectory = (path: string): Finding => {
  const name = 'data directory'
  const at = nearestExisting(path)
  try {
    accessSync(at, constants.W_OK | constants.X_OK)
    return { name, status: 'ok', message: `${resolve(path)} ${at === resolve(path) ? 'is writable' : 'can be created'}` }
  } catch {
    return { name, status: 'failed', message: `${at} is not writable for this user`, advice: 'set SVC_DATA_DIR, or change its owner' }
  }
}

const checkDisk = (path: string): Finding => {
  const { bavail, bsize } = statfsSync(nearestExisting(path))
  const message = `${(Number(bavail * bsize) / MIN_FREE_BYTES).toFixed(1)} GiB free for data and screenshots`
  if (bavail * bsize < LEAST_FREE_BYTES)
    return { name: 'disk', status: 'failed', message, advice: 'free space there: nothing can be created or changed on a full disk' }
  return bavail * bsize >= MIN_FREE_BYTES
    ? { name: 'disk', status: 'ok', message }
    : { name: 'disk', status: 'warning', message, advice: 'lower screenshots.max_megabytes in the settings, or free disk space' }
}

/** Node.js has raised the limit as far as it may by then. */
const checkOpenFiles = (): Finding => {
  const name = 'open files'
  const limit = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1]
  const message = `${limit ?? 'unlimited'} per process`
  if (limit === undefined || Number(limit) >= MIN_OPEN_FILES) return { name, status: 'ok', message }
  const advice = `allow ${MIN_OPEN_FILES} or more (LimitNOFILE of systemd, ulimit -n), or pipelines and readers are refused`
  return { name, status: 'warning', message, advice }
}

const checkClock = (now: number): Finding => {
  const name = 'clock'
  const message = new Date(now).toISOString()
  if (now >= EARLIEST_TIME) return { name, status: 'ok', message }
  const advice = 'set it (timedatectl set-ntp true): certificates, the license and the times of screenshots and positions depend on it'
  return { name, status: 'warning', message: `${message} is in the past`, advice }
}

const checkDevices = (name: string, folder: string, pattern: RegExp, group: string): readonly Finding[] => {
  const devices = existsSync(folder) ? readdirSync(folder).filter((entry) => pattern.test(entry)) : []
  if (devices.length === 0) return [{ name, status: 'ok', message: 'none on this host' }]
  return devices.map((device): Finding => {
    const path = join(folder, device)
    try {
      accessSync(path, constants.R_OK | constants.W_OK)
      return { name, status: 'ok', message: `${path} can be opened` }
    } catch {
      return {
        name,
        status: 'warning',
        message: `this user has no permission to open ${path}`,
        advice: `add the user to the group ${group}`,
      }
    }
  })
}
