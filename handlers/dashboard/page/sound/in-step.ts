import type { VideoChunk } from '../screens/records.ts'
import { createLateness } from './lateness.ts'
import type { Sound } from './sound.ts'

/** Pictures wait no longer than this for their sound, milliseconds … */
const MAX_WAIT_MS = 500
/** From here until a picture is seen: decoding, and half a turn of the display; milliseconds. */
const DRAWN_MS = 10
/** … and no more of them. */
const MAX_WAITING = 128

/** Holds each picture back until the sound of its moment is heard; without sound that is turned on, none waits. */
export const createInStep = (sound: Pick<Sound, 'heardAfterMs'> | undefined, show: (chunk: VideoChunk) => void) => {
  const lateness = createLateness()
  let waiting: { readonly chunk: VideoChunk; readonly cameMs: number; readonly dueMs: number }[] = []
  let heldMs = 0
  let timer: ReturnType<typeof setTimeout> | undefined
  const showDue = (): void => {
    timer = undefined
    const nowMs = performance.now()
    const ready = waiting.findIndex(({ dueMs }) => dueMs > nowMs)
    const due = waiting.splice(0, Math.max(ready === -1 ? waiting.length : ready, waiting.length - MAX_WAITING))
    for (const { chunk, cameMs } of due) {
      heldMs = nowMs - cameMs
      show(chunk)
    }
    const [next] = waiting
    if (next !== undefined) timer = setTimeout(showDue, Math.max(0, next.dueMs - performance.now()))
  }
  return {
    show: (chunk: VideoChunk): void => {
      const nowMs = performance.now()
      lateness.observe(chunk.timestamp / 1000, nowMs)
      const heardAfterMs = sound?.heardAfterMs()
      const waitMs = heardAfterMs === undefined ? 0 : Math.min(MAX_WAIT_MS, heardAfterMs - DRAWN_MS - (lateness.value() ?? heardAfterMs))
      if (waitMs <= 0 && waiting.length === 0) {
        heldMs = 0
        show(chunk)
        return
      }
      // In the order in which they came.
      waiting.push({ chunk, cameMs: nowMs, dueMs: Math.max(nowMs + waitMs, waiting.at(-1)?.dueMs ?? 0) })
      if (timer === undefined || waiting.length > MAX_WAITING) {
        clearTimeout(timer)
        timer = setTimeout(showDue, waiting.length > MAX_WAITING ? 0 : waitMs)
      }
    },
    /** How long the last picture was held back, milliseconds. */
    heldMs: () => heldMs,
    /** The source has come back: its times may be others. */
    reset: () => lateness.reset(),
    close: () => {
      clearTimeout(timer)
      waiting = []
    },
  }
}
