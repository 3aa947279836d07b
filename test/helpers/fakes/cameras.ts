import { ApiError } from '../../../lib/errors.ts'
import type { Cameras } from '../../../lib/ports.ts'
import type { Camera, CameraCapabilities, CameraReport } from '../../../lib/schema/camera.ts'

/** Cameras without a host: what is attached is the test's. */
export interface FakeCameras extends Cameras {
  /** Why the host cannot tell its cameras; undefined: it can. */
  trouble: ApiError | undefined
  plug(camera: CameraCapabilities): void
  unplug(devicePath: string): void
  /** The engine goes away and is back at once; what is done in `meanwhile` nobody was told. */
  loseFollowers(meanwhile?: () => void): void
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
  const followers = new Set<Queue>()
  const told = (): readonly Camera[] => [...attached.values()].map((camera) => ({ ...camera, formats: camera.formats.length }))
  const reach = (): void => {
    if (fake.trouble !== undefined) throw fake.trouble
  }
  const fake: FakeCameras = {
    trouble: undefined,
    following: () => followers.size,
    plug(camera) {
      const { device_path, device_name, formats } = camera
      attached.set(device_path, camera)
      for (const follower of followers) follower.push({ type: 'camera_added', device_path, device_name, formats: formats.length })
    },
    unplug(device_path) {
      attached.delete(device_path)
      for (const follower of followers) follower.push({ type: 'camera_removed', device_path })
    },
    loseFollowers(meanwhile) {
      const lost = [...followers]
      followers.clear()
      meanwhile?.()
      for (const follower of lost) follower.end()
    },
    list: async () => {
      reach()
      return told()
    },
    capabilities: async (devicePath) => {
      reach()
      const camera = attached.get(devicePath)
      if (camera === undefined) throw new ApiError('NOT_FOUND', 'No camera has this device path.')
      return camera
    },
    async *follow(signal) {
      reach()
      const queue = new Queue()
      followers.add(queue)
      signal.addEventListener('abort', () => queue.end())
      if (signal.aborted) queue.end()
      queue.push({ type: 'cameras', cameras: told() })
      yield* queue.read()
      followers.delete(queue)
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
