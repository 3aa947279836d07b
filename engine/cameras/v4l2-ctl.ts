import { runToEnd } from '../gst/child.ts'
import { devicePathOf, isFromV4l2 } from './device-node.ts'
import type { ListedDevice } from './monitor-output.ts'

const TIMEOUT_MS = 2000
const MAX_OUTPUT_BYTES = 64 * 1024

/** `v4l2-ctl --info` field → PipeWire's name of it. */
const FIELDS: Readonly<Record<string, string>> = { 'Driver name': 'api.v4l2.cap.driver', 'Bus info': 'api.v4l2.cap.bus_info' }

/** Driver and bus in the output of `v4l2-ctl --info`, under the names PipeWire gives them. */
export const parseV4l2Info = (output: string): ReadonlyMap<string, string> => {
  const properties = new Map<string, string>()
  for (const line of output.split('\n').slice(0, 200)) {
    const [, field = '', value = ''] = /^\t([A-Z][A-Za-z ]*?) *: (\S.*)$/.exec(line) ?? []
    const name = FIELDS[field]
    if (name !== undefined && !properties.has(name)) properties.set(name, value.trim().slice(0, 512))
  }
  return properties
}

/** Whether only v4l2-ctl can tell what drives the device: PipeWire alone lists it and says nothing of its driver. */
export const lacksDriver = (device: ListedDevice): boolean =>
  devicePathOf(device) !== undefined && !isFromV4l2(device) && !device.properties.has('api.v4l2.cap.driver')

/** Asks v4l2-ctl for driver and bus of the devices whose node has none; without the program, or an answer, nothing changes. */
export const completeFromV4l2Ctl = (devices: readonly ListedDevice[], signal: AbortSignal): Promise<readonly ListedDevice[]> => {
  const told = new Set(devices.filter(isFromV4l2).map(devicePathOf))
  return Promise.all(devices.map((device) => (lacksDriver(device) && !told.has(devicePathOf(device)) ? complete(device, signal) : device)))
}

const complete = async (device: ListedDevice, signal: AbortSignal): Promise<ListedDevice> => {
  const args = ['-d', devicePathOf(device) ?? '', '--info']
  const result = await runToEnd('v4l2-ctl', args, { timeoutMs: TIMEOUT_MS, maxOutputBytes: MAX_OUTPUT_BYTES, signal, reach: 'host' })
  if (result.exitCode !== 0) return device
  return { ...device, properties: new Map([...parseV4l2Info(result.stdout), ...device.properties]) }
}
