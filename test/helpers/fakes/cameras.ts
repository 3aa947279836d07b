import type { Cameras } from '../../../lib/engine/protocol.ts'
import { ApiError } from '../../../lib/errors.ts'
import type { Camera, CameraCapabilities, CameraReport, CameraStreams, NetworkCamera } from '../../../lib/schema/camera.ts'

/** Cameras without a host: what is attached is the test's. */
export interface FakeCameras extends Cameras {
  /** Why the host cannot list its cameras; undefined: it can. */
  fault: ApiError | undefined
  /** What answers a search. */
  found: NetworkCamera[]
  /** What a user named viewer may see of each. */
  streamsOfFound: CameraStreams
  plug(camera: CameraCapabilities): void
  unplug(devicePath: string): void
  /** The engine goes away and is back at once; nobody hears of the changes made in `meanwhile`. */
  loseSubscribers(meanwhile?: () => void): void
  /** How many streams of changes are open. */
  following(): number
}

export const fakeCamera = (number: number, device_name = 'Mock Camera'): CameraCapabilities => ({
  device_path: `/dev/video${number}`,
  device_paths: [`/dev/video${number}`],
  device_name,
  driver: 'uvcvideo',
  bus_info: `usb-${number}`,
  serial: null,
  formats: [
    {
      encoding: 'mjpeg',
      media_type: 'image/jpeg',
      pixel_format: null,
      device_path: `/dev/video${number}`,
      sizes: [{ width: 1280, height: 720, frame_rates: [30, 15], frame_rate_range: null, size_range: null }],
    },
  ],
})

export const createFakeCameras = (): FakeCameras => {
  const attached = new Map<string, CameraCapabilities>()
  const subscribers = new Set<Queue>()
  const listed = (): readonly Camera[] => [...attached.values()].map((camera) => ({ ...camera, formats: camera.formats.length }))
  const reach = (): void => {
    if (fake.fault !== undefined) throw fake.fault
  }
  const fake: FakeCameras = {
    fault: undefined,
    found: [],
    streamsOfFound: { manufacturer: 'Example', model: null, firmware: null, streams: [] },
    following: () => subscribers.size,
    plug(camera) {
      const { device_path, device_name, formats } = camera
      attached.set(device_path, camera)
      for (const subscriber of subscribers) subscriber.push({ type: 'camera_added', device_path, device_name, formats: formats.length })
    },
    unplug(device_path) {
      attached.delete(device_path)
      for (const subscriber of subscribers) subscriber.push({ type: 'camera_removed', device_path })
    },
    loseSubscribers(meanwhile) {
      const lost = [...subscribers]
      subscribers.clear()
      meanwhile?.()
      for (const subscriber of lost) subscriber.end()
    },
    list: async () => {
      reach()
      return listed()
    },
    capabilities: async ({ path }) => {
      reach()
      const camera = attached.get(path)
      if (camera === undefined) throw new ApiError('NOT_FOUND', 'No camera has this device path.')
      return camera
    },
    search: async () => {
      reach()
      return fake.found
    },
    streams: async ({ address, user }) => {
      if (user !== 'viewer') throw new ApiError('ENGINE_ERROR', 'The camera refuses the user.', { reason: 'unauthorized', cause: address })
      return fake.streamsOfFound
    },
    async *events(signal) {
      reach()
      const queue = new Queue()
      subscribers.add(queue)
      signal.addEventListener('abort', () => queue.end())
      if (signal.aborted) queue.end()
      queue.push({ type: 'cameras', cameras: listed() })
      yield* queue.read()
      subscribers.delete(queue)
    },
  }
  return fake
}

class Queue {
  readonly #waiting: CameraReport[] = []
  #ended = false
  #wake = (): void => {}

  push(report: CameraReport): void {
    this.#waiting.push(report)
    this.#wake()
  }

  end(): void {
    this.#ended = true
    this.#wake()
  }

  async *read(): AsyncGenerator<CameraReport> {
    while (!this.#ended) {
      yield* this.#waiting.splice(0)
      if (this.#waiting.length > 0 || this.#ended) continue
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
    }
  }
}
