import * as v from 'valibot'
import { count, described, integerBetween } from './primitives.ts'

/** A V4L2 node, or a stable link of udev to it; other paths of the host are not allowed. */
const DEVICE_PATH = /^\/dev\/(?:video\d{1,5}|v4l\/by-(?:id|path)\/[A-Za-z0-9_.:+@#=-]{1,255})$/

export const isDevicePath = (path: string): boolean => DEVICE_PATH.test(path)

/** Encodings that a pipeline can read from a camera; `raw` stands for every uncompressed pixel format. */
const CAMERA_KINDS = ['h264', 'h265', 'mjpeg', 'raw'] as const

const pixels = v.pipe(v.number(), v.integer(), v.minValue(1))
const rate = v.pipe(v.number(), v.minValue(0))

const frameRateRangeSchema = v.object({
  min: described(rate, 'Lowest frame rate, frames per second'),
  max: described(rate, 'Highest frame rate, frames per second'),
})

const sizeRangeSchema = v.object({
  min_width: described(pixels, 'Smallest width, pixels'),
  max_width: described(pixels, 'Largest width, pixels'),
  step_width: described(pixels, 'Widths are min_width plus a multiple of this many pixels'),
  min_height: described(pixels, 'Smallest height, pixels'),
  max_height: described(pixels, 'Largest height, pixels'),
  step_height: described(pixels, 'Heights are min_height plus a multiple of this many pixels'),
})

const cameraSizeSchema = v.object({
  width: described(pixels, 'Width, pixels; the largest one when size_range is given'),
  height: described(pixels, 'Height, pixels; the largest one when size_range is given'),
  frame_rates: described(
    v.array(rate),
    'Frame rates of this size, frames per second, highest first, rounded to three decimals. The highest one when frame_rate_range is given; empty when the driver reports none',
  ),
  frame_rate_range: described(v.nullable(frameRateRangeSchema), 'Any frame rate between these two; null when frame_rates is the full list'),
  size_range: described(v.nullable(sizeRangeSchema), 'Any size within these bounds; null for one exact size'),
})

const cameraFormatSchema = v.object({
  encoding: described(v.string(), 'mjpeg, h264, h265, or the pixel format of raw video in lower case, such as yuy2, nv12, gray16_le'),
  media_type: described(v.string(), 'GStreamer media type, such as image/jpeg, video/x-h264, video/x-raw'),
  pixel_format: described(v.nullable(v.string()), 'GStreamer name of the pixel format of raw video; null for encoded video'),
  device_path: described(v.string(), 'Node that delivers this format; a camera may have several nodes'),
  sizes: described(v.array(cameraSizeSchema), 'Largest first'),
})

const identityEntries = {
  device_path: described(v.string(), 'First node of the camera; identifies it in v4l2:// addresses and in the query parameter path'),
  device_paths: described(v.array(v.string()), 'Every node of the camera that delivers video'),
  device_name: described(v.string(), 'Name that the camera reports'),
  driver: described(v.nullable(v.string()), 'Kernel driver, such as uvcvideo'),
  bus_info: described(v.nullable(v.string()), 'Where the camera is attached, such as usb-0000:00:14.0-1'),
  serial: described(v.nullable(v.string()), 'Vendor, model and serial number as udev reports them; null when it reports none'),
}

export const cameraSchema = v.object({
  ...identityEntries,
  formats: described(count, 'Number of formats; GET camera?path= lists them'),
})

export const cameraCapabilitiesSchema = v.object({ ...identityEntries, formats: v.array(cameraFormatSchema) })

/** Query of GET camera. A path of another form is answered as an unknown camera. */
export const cameraQuerySchema = v.strictObject({
  path: v.pipe(
    v.string('Use the path of a video device such as /dev/video0'),
    v.minLength(1, 'Use the path of a video device such as /dev/video0'),
    v.maxLength(512, 'Use at most 512 characters'),
    v.description('Device path of a camera'),
  ),
})

export const cameraAddedSchema = v.object({
  device_path: identityEntries.device_path,
  device_name: identityEntries.device_name,
  formats: described(v.pipe(v.number(), v.integer()), 'Number of formats'),
})

export const cameraRemovedSchema = v.object({ device_path: identityEntries.device_path })

const words = (description: string) => described(v.nullable(v.string()), `${description}; null when it does not say`)

/** Body of a search for cameras in the network. */
export const cameraSearchSchema = v.strictObject({
  seconds: v.optional(described(integerBetween(1, 10), 'How long answers are awaited'), 3),
})

/** A camera that answered a search. */
export const networkCameraSchema = v.object({
  address: described(v.string(), 'Its device service (ONVIF), for cameras/streams'),
  name: words('Name that it has been given'),
  hardware: words('Model'),
  location: words('Where it is'),
})

const text = (most: number) => v.pipe(v.string(), v.maxLength(most, `Use at most ${most} characters`))

/** Body of the question for the streams of a camera. */
export const cameraAccessSchema = v.strictObject({
  address: described(
    v.pipe(
      v.string('Use the address of a camera'),
      v.trim(),
      v.maxLength(512, 'Use at most 512 characters'),
      v.check(
        (address) => deviceService(address) !== undefined,
        'Use a host such as 10.0.0.5, or an http:// address without user and password',
      ),
    ),
    'As a search answers it, or a host: its device service is at /onvif/device_service then',
  ),
  user: v.optional(described(text(256), 'User of the camera'), ''),
  password: v.optional(described(text(256), 'Its password; neither stored nor answered'), ''),
})

/** The address of a device service, of an address or a host; undefined where it is neither. */
export const deviceService = (address: string): string | undefined => {
  const url = URL.parse(address.includes('://') ? address : `http://${address}`)
  const isUsable = url !== null && /^https?:$/.test(url.protocol) && url.hostname !== '' && url.username === '' && url.password === ''
  if (!isUsable) return undefined
  if (url.pathname === '/') url.pathname = '/onvif/device_service'
  return url.href
}

const cameraStreamSchema = v.object({
  name: words('Name of the profile'),
  uri: described(v.string(), 'Address of the stream on the host of the camera, without user and password'),
  codec: words('h264, h265, or another one in lower case, such as jpeg'),
  width: described(v.nullable(v.number()), 'Pixels'),
  height: described(v.nullable(v.number()), 'Pixels'),
  fps: described(v.nullable(v.number()), 'Most frames per second'),
  bitrate_kbps: described(v.nullable(v.number()), 'Most kbit/s'),
  audio: words('Codec of its sound, in lower case'),
})

/** What a camera says of itself and its streams. */
export const cameraStreamsSchema = v.object({
  manufacturer: words('Manufacturer'),
  model: words('Model'),
  firmware: words('Version of its firmware'),
  streams: v.array(cameraStreamSchema),
})

export type CameraKind = (typeof CAMERA_KINDS)[number]
export type CameraSize = v.InferOutput<typeof cameraSizeSchema>
export type CameraFormat = v.InferOutput<typeof cameraFormatSchema>
export type Camera = v.InferOutput<typeof cameraSchema>
export type CameraCapabilities = v.InferOutput<typeof cameraCapabilitiesSchema>
export type CameraEvent =
  | ({ readonly type: 'camera_added' } & v.InferOutput<typeof cameraAddedSchema>)
  | ({ readonly type: 'camera_removed' } & v.InferOutput<typeof cameraRemovedSchema>)
/** An element of the engine's camera stream: first the attached cameras, then each change. */
export type CameraReport = { readonly type: 'cameras'; readonly cameras: readonly Camera[] } | CameraEvent | { readonly type: 'heartbeat' }
export type NetworkCamera = Readonly<v.InferOutput<typeof networkCameraSchema>>
export type CameraAccess = Readonly<v.InferOutput<typeof cameraAccessSchema>>
export type CameraStream = Readonly<v.InferOutput<typeof cameraStreamSchema>>
export type CameraStreams = Readonly<v.InferOutput<typeof cameraStreamsSchema>>
