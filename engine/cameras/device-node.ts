import { type CameraFormat, isDevicePath } from '../../lib/schema/camera.ts'
import { parseCapsLines } from './caps.ts'
import type { ListedDevice } from './monitor-output.ts'

/** One V4L2 node that delivers video. */
export interface CameraNode {
  readonly path: string
  readonly name: string
  readonly driver: string | null
  readonly bus_info: string | null
  readonly serial: string | null
  readonly formats: readonly CameraFormat[]
}

// V4L2_CAP_* of linux/videodev2.h
const CAPTURE = 0x0000_0001 | 0x0000_1000
const MEMORY_TO_MEMORY = 0x0000_8000 | 0x0000_4000

/** Image processors of the Raspberry Pi: they have capture nodes, but are not cameras. */
const NOT_CAMERAS: ReadonlySet<string> = new Set(['bcm2835-isp', 'bcm2835-codec', 'pispbe', 'rpi-hevc-dec', 'rpivid'])

/** Names of the same property in the V4L2 provider and in PipeWire. */
const PROPERTIES = {
  path: ['device.path', 'api.v4l2.path', 'object.path'],
  driver: ['v4l2.device.driver', 'api.v4l2.cap.driver'],
  bus_info: ['v4l2.device.bus_info', 'api.v4l2.cap.bus_info'],
  serial: ['device.serial'],
} as const

const property = (device: ListedDevice, key: keyof typeof PROPERTIES): string | null => {
  for (const name of PROPERTIES[key]) {
    const value = device.properties.get(name)
    if (value !== undefined && value !== '') return value
  }
  return null
}

/** The path for v4l2src, undefined for a device without one (libcamera, screen capture). */
export const devicePathOf = (device: ListedDevice): string | undefined => {
  const path = property(device, 'path')?.replace(/^v4l2:/, '')
  return path !== undefined && isDevicePath(path) ? path : undefined
}

/** Whether the V4L2 provider listed the device; it has more properties of a node than PipeWire. */
export const isFromV4l2 = (device: ListedDevice): boolean => device.properties.has('v4l2.device.driver')

/** The camera node of a listed device; undefined for metadata, output and codec nodes and for devices that v4l2src cannot open. */
export const toCameraNode = (device: ListedDevice): CameraNode | undefined => {
  const path = devicePathOf(device)
  const driver = property(device, 'driver')
  if (path === undefined || (driver !== null && NOT_CAMERAS.has(driver)) || !captures(device)) return undefined
  const formats = parseCapsLines(device.caps, path)
  if (formats.length === 0) return undefined
  const name = device.properties.get('v4l2.device.card') ?? device.name
  return { path, name, driver, bus_info: property(device, 'bus_info'), serial: property(device, 'serial'), formats }
}

const captures = (device: ListedDevice): boolean => {
  const [, bits] = /^(\d{1,10})\b/.exec(device.properties.get('v4l2.device.device_caps') ?? '') ?? []
  if (bits === undefined) return true
  return (Number(bits) & CAPTURE) !== 0 && (Number(bits) & MEMORY_TO_MEMORY) === 0
}
