import type { Cameras } from '../ports.ts'
import type { Camera, CameraCapabilities, CameraReport } from '../schema/camera.ts'
import { type EngineCaller, followLines } from './client.ts'

/** Longest wait, milliseconds: the first question starts the monitor, and a camera may take its time to answer it. */
const ASK_MS = 15_000

/** The Cameras port over HTTP. Every method throws the engine's ApiError, or SERVICE_UNAVAILABLE. */
export const createCamerasClient = ({ call, open }: EngineCaller): Cameras => {
  const list = () => call<readonly Camera[]>('GET', '/cameras', undefined, ASK_MS)
  return {
    list,
    capabilities: (devicePath) => call<CameraCapabilities>('GET', `/camera?path=${encodeURIComponent(devicePath)}`, undefined, ASK_MS),
    follow: async function* (signal) {
      // A stream that does not begin says nothing; an answer says why the host cannot tell.
      await list()
      yield* followLines<CameraReport>(open, '/cameras/events', signal)
    },
  }
}
