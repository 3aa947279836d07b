import type { Camera, CameraCapabilities, CameraEvent } from '../../lib/schema/camera.ts'
import { type CameraNode, isFromV4l2, toCameraNode } from './device-node.ts'
import type { ListedDevice } from './monitor-output.ts'

/** The camera nodes among the listed devices, by number; of a node that PipeWire and V4L2 both list, the V4L2 entry. */
export const cameraNodes = (devices: readonly ListedDevice[]): readonly CameraNode[] => {
  const nodes = new Map<string, CameraNode>()
  const preferred = [...devices].sort((a, b) => Number(isFromV4l2(b)) - Number(isFromV4l2(a)))
  for (const device of preferred) {
    const node = toCameraNode(device)
    if (node !== undefined && !nodes.has(node.path)) nodes.set(node.path, node)
  }
  return [...nodes.values()].sort((a, b) => a.path.localeCompare(b.path, 'en', { numeric: true }))
}

/**
 * Joins nodes into cameras. Nodes of one device with different encodings are one camera (MJPEG on one node, H.264 on another);
 * nodes with a common encoding are inputs of a capture card, or two lenses, and remain separate cameras.
 */
export const joinNodes = (nodes: readonly CameraNode[]): readonly CameraCapabilities[] => {
  const cameras: CameraCapabilities[] = []
  for (const node of nodes) {
    const camera = cameras.find((other) => belongsTo(node, other))
    if (camera === undefined) cameras.push(toCapabilities(node))
    else {
      camera.device_paths.push(node.path)
      camera.formats.push(...node.formats)
    }
  }
  return cameras
}

const belongsTo = (node: CameraNode, camera: CameraCapabilities): boolean =>
  node.bus_info !== null &&
  node.bus_info === camera.bus_info &&
  node.driver === camera.driver &&
  node.name === camera.device_name &&
  node.serial === camera.serial &&
  !node.formats.some(({ encoding }) => camera.formats.some((format) => format.encoding === encoding))

const toCapabilities = ({ path, name, driver, bus_info, serial, formats }: CameraNode): CameraCapabilities => ({
  device_path: path,
  device_paths: [path],
  device_name: name,
  driver,
  bus_info,
  serial,
  formats: [...formats],
})

export const toCamera = (camera: CameraCapabilities): Camera => ({ ...camera, formats: camera.formats.length })

/** The events of a change from one list to the next: removals first. */
export const cameraChanges = (before: readonly CameraCapabilities[], after: readonly CameraCapabilities[]): readonly CameraEvent[] => {
  // Another camera at the same path is a removal and an addition.
  const among = (camera: CameraCapabilities, others: readonly CameraCapabilities[]): boolean =>
    others.some((other) => identity(other) === identity(camera))
  return [
    ...before.filter((camera) => !among(camera, after)).map(({ device_path }): CameraEvent => ({ type: 'camera_removed', device_path })),
    ...after
      .filter((camera) => !among(camera, before))
      .map(
        ({ device_path, device_name, formats }): CameraEvent => ({
          type: 'camera_added',
          device_path,
          device_name,
          formats: formats.length,
        }),
      ),
  ]
}

const identity = ({ device_path, device_name, bus_info, serial }: CameraCapabilities): string =>
  JSON.stringify([device_path, device_name, bus_info, serial])
