import { runToEnd } from '../gst/child.ts'
import { devicePathOf, isFromV4l2 } from './device-node.ts'
import type { ListedDevice } from './monitor-output.ts'

const TIMEOUT_MS = 2000
const MAX_OUTPUT_BYTES = 64 * 1024

/** Field of `v4l2-ctl --info` → PipeWire's name of the property. */
const FIELDS: ReadonlyMap<string, string> = new Map([
  ['Driver name', 'api.v4l2.cap.driver'],
  ['Bus info', 'api.v4l2.cap.bus_info'],
])

/** Driver and bus in the output of `v4l2-ctl --info`, by PipeWire's names. */
export const parseV4l2Info = (output: string): ReadonlyMap<string, string> => {
  const properties = new Map<string, string>()
  for (const line of output.split('\n').slice(0, 200)) {
    const [, field = '', value = ''] = /^\t([A-Z][A-Za-z ]*): (\S.*)$/.exec(line) ?? []
    const name = FIELDS.get(field.trimEnd())
    if (name !== undefined && !properties.has(name)) properties.set(name, value.trim().slice(0, 512))
  }
  return properties
}

/** Whether the driver must be read with v4l2-ctl: only PipeWire lists the device, without its driver. */
export const lacksDriver = (device: ListedDevice): boolean =>
  devicePathOf(device) !== undefined && !isFromV4l2(device) && !device.properties.has('api.v4l2.cap.driver')

/** Adds driver and bus to the devices that lack them; devices stay as they are when v4l2-ctl is missing or fails. */
export const completeFromV4l2Ctl = (devices: readonly ListedDevice[], signal: AbortSignal): Promise<readonly ListedDevice[]> => {
  const fromV4l2 = new Set(devices.filter(isFromV4l2).map(devicePathOf))
  return Promise.all(
    devices.map((device) => (lacksDriver(device) && !fromV4l2.has(devicePathOf(device)) ? complete(device, signal) : device)),
  )
}

const complete = async (device: ListedDevice, signal: AbortSignal): Promise<ListedDevice> => {
  const args = ['-d', devicePathOf(device) ?? '', '--info']
  const result = await runToEnd('v4l2-ctl', args, { timeoutMs: TIMEOUT_MS, maxOutputBytes: MAX_OUTPUT_BYTES, signal, reach: 'host' })
  if (result.exitCode !== 0) return device
  return { ...device, properties: new Map([...parseV4l2Info(result.stdout), ...device.properties]) }
}
