import type { CameraMonitor } from '../cameras/monitor.ts'
import type { Answers } from './dispatch.ts'

export const cameraAnswers = (monitor: Pick<CameraMonitor, 'list' | 'capabilities' | 'onChange'>): Answers<'cameras'> => ({
  list: () => monitor.list(),
  capabilities: ({ path }) => monitor.capabilities(path),
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
