import { frameRateFraction, type LaunchTokens, type MakeElement, makeElement } from '../../gst/element.ts'
import { good } from '../../gst/elements.ts'
import type { CameraAddress } from './address.ts'
import type { CameraMode } from './mode.ts'

export const CAMERA_ELEMENTS = { v4l2src: good('cameras') }
const element: MakeElement<keyof typeof CAMERA_ELEMENTS> = makeElement

/** v4l2src and the caps it is to deliver; undefined fields are left open. */
const v4l2src = (
  device: string,
  mediaType: string,
  fields: { readonly format?: string; readonly width?: number; readonly height?: number; readonly framerate?: string },
): LaunchTokens => {
  const caps = Object.entries(fields).flatMap(([name, value]) => (value === undefined ? [] : [`${name}=${value}`]))
  return [...element('v4l2src', { device }), '!', [mediaType, ...caps].join(',')]
}

/** The first elements of the launch line of a camera whose capabilities are known. */
export const cameraLine = ({ device_path, media_type, pixel_format, width, height, fps, listed_fps }: CameraMode): LaunchTokens =>
  v4l2src(device_path, media_type, {
    ...(pixel_format !== null && { format: pixel_format }),
    width,
    height,
    ...(fps !== null && { framerate: framerate(fps, listed_fps) }),
  })

// Drivers list rates as 30/1, 30000/1001 or 10000000/333333; a range of a hundredth matches the exact fraction, which is rounded here.
const framerate = (fps: number, listed: boolean): string => {
  const thousandths = Math.round(fps * 1000)
  return listed ? `[${Math.max(thousandths - 10, 1)}/1000,${thousandths + 10}/1000]` : `${thousandths}/1000`
}

const ENCODED_CAPS: ReadonlyMap<string, string> = new Map([
  ['h264', 'video/x-h264'],
  ['h265', 'video/x-h265'],
  ['mjpeg', 'image/jpeg'],
])

/** GStreamer's names of pixel formats are in capitals but for the padding byte. */
const PADDED: ReadonlyMap<string, string> = new Map([
  ['bgrx', 'BGRx'],
  ['rgbx', 'RGBx'],
  ['xbgr', 'xBGR'],
  ['xrgb', 'xRGB'],
])

/** The first elements of the launch line of a camera whose capabilities are unknown: only what its address says. */
export const presumedCameraLine = ({ device_path, encoding, width, height, fps }: CameraAddress): LaunchTokens => {
  const encoded = ENCODED_CAPS.get(encoding ?? '')
  const isPixelFormat = encoded === undefined && encoding !== undefined && encoding !== 'raw'
  return v4l2src(device_path, encoded ?? 'video/x-raw', {
    ...(isPixelFormat && { format: PADDED.get(encoding) ?? encoding.toUpperCase() }),
    ...(width !== undefined && { width }),
    ...(height !== undefined && { height }),
    ...(fps !== undefined && { framerate: frameRateFraction(fps) }),
  })
}

/** Whether v4l2src delivers this encoding encoded, not as raw video. */
export const isEncoded = (encoding: string | undefined): boolean => ENCODED_CAPS.has(encoding ?? '')
