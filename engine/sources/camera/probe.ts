import { ApiError } from '../../../lib/errors.ts'
import type { CameraCapabilities } from '../../../lib/schema/camera.ts'
import type { CameraMonitor } from '../../cameras/monitor.ts'
import { Fault } from '../../fault.ts'
import { accessFault } from './access.ts'
import { type CameraMode, parseCameraUri, validateCameraSource } from './mode.ts'

export interface CameraQuestion {
  /** Undefined on a host that watches no cameras. */
  readonly cameras: Pick<CameraMonitor, 'capabilities'> | undefined
  readonly reencode: boolean
}

/**
 * The mode that a pipeline is to take from its camera now; undefined when the host cannot tell what is attached.
 * Fault device_missing, permission, or unsupported with what the camera offers.
 */
export const probeCamera = async (
  uri: string,
  { cameras, reencode, signal }: CameraQuestion & { readonly signal: AbortSignal },
): Promise<CameraMode | undefined> => {
  const { device_path } = parseCameraUri(uri)
  try {
    const camera = await unlessAborted(ask(cameras, device_path), signal)
    return camera === undefined ? undefined : validateCameraSource(uri, camera, { reencode })
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    if (error.code !== 'NOT_FOUND') throw new Fault('unsupported', error.message, { cause: error })
    throw (await accessFault(device_path)) ?? missing(device_path)
  }
}

/**
 * The same for a dry run: undefined also when the camera is not attached, since it may be plugged in later.
 * VALIDATION_ERROR with what the camera offers.
 */
export const checkCamera = async (uri: string, { cameras, reencode }: CameraQuestion): Promise<CameraMode | undefined> => {
  const camera = await ask(cameras, parseCameraUri(uri).device_path).catch((error: unknown) => {
    if (error instanceof ApiError && error.code === 'NOT_FOUND') return undefined
    throw error
  })
  return camera === undefined ? undefined : validateCameraSource(uri, camera, { reencode })
}

/** A host without the monitor program may have cameras all the same: then v4l2src itself is asked. */
const ask = async (cameras: CameraQuestion['cameras'], devicePath: string): Promise<CameraCapabilities | undefined> => {
  try {
    return await cameras?.capabilities(devicePath)
  } catch (error) {
    if (error instanceof ApiError && error.code === 'SERVICE_UNAVAILABLE') return undefined
    throw error
  }
}

const missing = (devicePath: string): Fault =>
  new Fault('device_missing', `No camera is attached at ${devicePath}. Plug it in; GET cameras lists those that are.`)

/** A stop must not wait for a camera that hangs. */
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
