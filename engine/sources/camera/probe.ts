import { access, constants, readFile, stat } from 'node:fs/promises'
import { ApiError } from '../../../lib/errors.ts'
import type { CameraCapabilities } from '../../../lib/schema/camera.ts'
import type { CameraMonitor } from '../../cameras/monitor.ts'
import { Fault } from '../../faults/fault.ts'
import { parseCameraAddress } from './address.ts'
import { type CameraMode, chooseCameraMode } from './mode.ts'
import { noPermission } from './permission.ts'

interface CameraProbeOptions {
  /** Left out on a host without a camera monitor. */
  readonly cameras?: Pick<CameraMonitor, 'capabilities'> | undefined
  readonly reencode: boolean
}

/**
 * The mode that a pipeline takes from its camera now; undefined when the capabilities of the host's cameras are unknown.
 * Fault device_missing, permission, or unsupported with what the camera offers.
 */
export const probeCamera = async (
  uri: string,
  { cameras, reencode, signal }: CameraProbeOptions & { readonly signal: AbortSignal },
): Promise<CameraMode | undefined> => {
  const { device_path } = parseCameraAddress(uri)
  try {
    const camera = await unlessAborted(readCapabilities(cameras, device_path), signal)
    return camera === undefined ? undefined : chooseCameraMode(uri, camera, { reencode })
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    if (error.code !== 'NOT_FOUND') throw new Fault('unsupported', error.message, { cause: error })
    throw (await permissionFault(device_path)) ?? missing(device_path)
  }
}

/**
 * The same for a dry run: undefined also when the camera is not attached, since it may be plugged in later.
 * VALIDATION_ERROR with what the camera offers.
 */
export const checkCamera = async (uri: string, { cameras, reencode }: CameraProbeOptions): Promise<CameraMode | undefined> => {
  const camera = await readCapabilities(cameras, parseCameraAddress(uri).device_path).catch((error: unknown) => {
    if (error instanceof ApiError && error.code === 'NOT_FOUND') return undefined
    throw error
  })
  return camera === undefined ? undefined : chooseCameraMode(uri, camera, { reencode })
}

/** Undefined on a host without the monitor program, which may have cameras: v4l2src then negotiates the mode. */
const readCapabilities = async (cameras: CameraProbeOptions['cameras'], devicePath: string): Promise<CameraCapabilities | undefined> => {
  try {
    return await cameras?.capabilities(devicePath)
  } catch (error) {
    if (error instanceof ApiError && error.code === 'SERVICE_UNAVAILABLE') return undefined
    throw error
  }
}

/** The fault of an existing device node that the service has no permission to open; undefined when it has, or without such a node. */
const permissionFault = async (path: string): Promise<Fault | undefined> => {
  try {
    await access(path, constants.R_OK | constants.W_OK)
    return undefined
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    if (code !== 'EACCES' && code !== 'EPERM') return undefined
  }
  const [node, groups] = await Promise.all([stat(path), readFile('/etc/group', 'utf8').catch(() => '')])
  return noPermission({ gid: node.gid, mode: node.mode, groups })
}

const missing = (devicePath: string): Fault =>
  new Fault('device_missing', `The camera at ${devicePath} is not attached. Plug it in; GET cameras lists the attached cameras.`)

/** A stop does not wait for a camera that hangs. */
const unlessAborted = async <T>(work: Promise<T>, signal: AbortSignal): Promise<T> => {
  const aborted = Promise.withResolvers<never>()
  const onAbort = (): void => aborted.reject(new Fault('timeout', 'The start was cancelled.'))
  signal.addEventListener('abort', onAbort)
  if (signal.aborted) onAbort()
  try {
    return await Promise.race([work, aborted.promise])
  } finally {
    signal.removeEventListener('abort', onAbort)
  }
}
