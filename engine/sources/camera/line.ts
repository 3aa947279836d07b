import { element, frameRateFraction } from '../../gst/element.ts'
import type { CameraMode, CameraSource } from './mode.ts'

/** The first elements of the gst-launch line, as argv: v4l2src up to caps of H.264, H.265, JPEG or raw video. */
export const cameraLaunchHead = (mode: CameraMode): readonly string[] => ['v4l2src', `device=${mode.device_path}`, '!', capsOf(mode)]

const capsOf = (mode: CameraMode): string =>
  [
    mode.media_type,
    ...(mode.pixel_format === null ? [] : [`format=${mode.pixel_format}`]),
    `width=${mode.width}`,
    `height=${mode.height}`,
    ...(mode.fps === null ? [] : [`framerate=${framerate(mode.fps, mode.listed_fps)}`]),
  ].join(',')

// Drivers tell rates as 30/1, 30000/1001 or 10000000/333333; a range of a hundredth meets the exact fraction, which we rounded.
const framerate = (fps: number, listed: boolean): string => {
  const thousandths = Math.round(fps * 1000)
  return listed ? `[${Math.max(thousandths - 10, 1)}/1000,${thousandths + 10}/1000]` : `${thousandths}/1000`
}

const ENCODED_CAPS: Readonly<Record<string, string>> = { h264: 'video/x-h264', h265: 'video/x-h265', mjpeg: 'image/jpeg' }

/** GStreamer's names of pixel formats are in capitals but for the padding byte. */
const PADDED: Readonly<Record<string, string>> = { bgrx: 'BGRx', rgbx: 'RGBx', xbgr: 'xBGR', xrgb: 'xRGB' }

/** The first elements for a camera that nobody could ask: what its address says. */
export const presumedLaunchHead = ({ device_path, encoding, width, height, fps }: CameraSource): readonly string[] => {
  const encoded = ENCODED_CAPS[encoding ?? '']
  const pixelFormat = encoded !== undefined || encoding === undefined || encoding === 'raw' ? undefined : encoding
  const caps = [
    encoded ?? 'video/x-raw',
    ...(pixelFormat === undefined ? [] : [`format=${PADDED[pixelFormat] ?? pixelFormat.toUpperCase()}`]),
    ...(width === undefined ? [] : [`width=${width}`]),
    ...(height === undefined ? [] : [`height=${height}`]),
    ...(fps === undefined ? [] : [`framerate=${frameRateFraction(fps)}`]),
  ]
  return [...element('v4l2src', { device: device_path }), '!', caps.join(',')]
}
