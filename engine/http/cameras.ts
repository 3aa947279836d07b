import { ApiError } from '../../lib/errors.ts'
import type { NetworkCamera } from '../../lib/schema/camera.ts'
import type { CameraMonitor } from '../cameras/monitor.ts'
import { readCamera } from '../cameras/onvif/read-camera.ts'
import { searchNetwork } from '../cameras/onvif/search-network.ts'
import { Fault } from '../faults/fault.ts'
import type { Answers } from './dispatch.ts'

export const cameraAnswers = (monitor: Pick<CameraMonitor, 'list' | 'capabilities' | 'onChange'>): Answers<'cameras'> => ({
  list: () => monitor.list(),
  capabilities: ({ path }) => monitor.capabilities(path),
  search: createSearch(),
  streams: (access) => readCamera(access).catch(throwForClient),
  events: async () => {
    // A host that cannot list its cameras answers with the reason instead of a silent stream.
    await monitor.list()
    return ({ push, end }) => {
      // Subscribed before it is listed: a change between the two may be sent twice, never lost.
      const unsubscribe = monitor.onChange(push)
      monitor.list().then((cameras) => push({ type: 'cameras', cameras }), end)
      return unsubscribe
    }
  },
})

/** One search at a time: those who ask meanwhile get its answer. */
const createSearch = () => {
  let running: Promise<NetworkCamera[]> | undefined
  return ({ seconds }: { readonly seconds: number }): Promise<NetworkCamera[]> => {
    running ??= searchNetwork({ ms: seconds * 1000 }).finally(() => {
      running = undefined
    })
    return running
  }
}

const throwForClient = (error: unknown): never => {
  if (!(error instanceof Fault)) throw error
  const { reason, message } = error
  throw new ApiError('ENGINE_ERROR', `The camera did not say its streams. ${message}`, { reason, cause: message }, { cause: error })
}
