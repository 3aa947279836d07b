import { accessSync, constants, existsSync, readdirSync, statfsSync } from 'node:fs'
import { createServer } from 'node:net'
import { dirname, join, resolve } from 'node:path'
import type { Configuration } from '../../../lib/configuration.ts'
import type { Finding } from './report.ts'

const OLDEST_NODE = 24
const ENOUGH_BYTES = 1024 ** 3
/** Ports of the range that are tried. */
const PORT_SAMPLE = 20

/** Node, ports, directories, disk and devices. */
export const checkHost = async (configuration: Configuration): Promise<readonly Finding[]> => [
  checkNode(process.versions.node),
  await checkApiPort(configuration),
  await checkOutputPorts(configuration),
  checkDirectory(configuration.dataDir),
  checkDisk(configuration.dataDir),
  ...checkDevices('cameras', '/dev', /^video\d+$/, 'video'),
  ...checkDevices('graphics', '/dev/dri', /^renderD\d+$/, 'render'),
]

const checkNode = (version: string): Finding =>
  Number.parseInt(version, 10) >= OLDEST_NODE
    ? { name: 'Node.js', status: 'ok', message: version }
    : { name: 'Node.js', status: 'failed', message: version, advice: `use Node.js ${OLDEST_NODE} or later` }

const canBind = (host: string, port: number): Promise<string | undefined> =>
  new Promise((done) => {
    const probe = createServer()
    probe.once('error', (error: NodeJS.ErrnoException) => done(error.code ?? error.message))
    probe.listen({ host, port, exclusive: true }, () => probe.close(() => done(undefined)))
  })

const checkApiPort = async ({ host, port }: Configuration): Promise<Finding> => {
  const name = 'port of the API'
  const trouble = await canBind(host, port)
  if (trouble === undefined) return { name, status: 'ok', message: `${host}:${port} is free` }
  const advice =
    trouble === 'EADDRINUSE' ? 'the service runs already, or another program has it; set SVC_PORT' : 'set SVC_HOST and SVC_PORT'
  return { name, status: 'warning', message: `${host}:${port} cannot be used (${trouble})`, advice }
}

const checkOutputPorts = async ({ outputPorts: { first, last } }: Configuration): Promise<Finding> => {
  const name = 'ports of outputs'
  const ports = Array.from({ length: Math.min(PORT_SAMPLE, last - first + 1) }, (_, index) => first + index)
  const free = (await Promise.all(ports.map((port) => canBind('0.0.0.0', port)))).filter((trouble) => trouble === undefined).length
  const message = `${free} of the first ${ports.length} of ${first}-${last} are free`
  return free > 0 ? { name, status: 'ok', message } : { name, status: 'failed', message, advice: 'set SVC_OUTPUT_PORTS' }
}

/** The directory, or what is there of the way to it. */
const present = (path: string): string => {
  let at = resolve(path)
  while (!existsSync(at) && at !== dirname(at)) at = dirname(at)
  return at
}

const checkDirectory = (path: string): Finding => {
  const name = 'data directory'
  const at = present(path)
  try {
    accessSync(at, constants.W_OK | constants.X_OK)
    return { name, status: 'ok', message: `${resolve(path)} ${at === resolve(path) ? 'may be written' : 'can be created'}` }
  } catch {
    return { name, status: 'failed', message: `${at} may not be written by this user`, advice: 'set SVC_DATA_DIR, or change its owner' }
  }
}

const checkDisk = (path: string): Finding => {
  const { bavail, bsize } = statfsSync(present(path))
  const message = `${(Number(bavail * bsize) / ENOUGH_BYTES).toFixed(1)} GiB free for data and screenshots`
  return bavail * bsize >= ENOUGH_BYTES
    ? { name: 'disk', status: 'ok', message }
    : { name: 'disk', status: 'warning', message, advice: 'lower screenshots.max_megabytes in the settings, or make room' }
}

const checkDevices = (name: string, folder: string, pattern: RegExp, group: string): readonly Finding[] => {
  const devices = existsSync(folder) ? readdirSync(folder).filter((entry) => pattern.test(entry)) : []
  if (devices.length === 0) return [{ name, status: 'ok', message: 'no device on this host' }]
  return devices.map((device): Finding => {
    const path = join(folder, device)
    try {
      accessSync(path, constants.R_OK | constants.W_OK)
      return { name, status: 'ok', message: `${path} may be used` }
    } catch {
      return { name, status: 'warning', message: `${path} may not be used by this user`, advice: `add the user to the group ${group}` }
    }
  })
}
