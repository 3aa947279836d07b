import { Backoff, type BackoffLimits, type Random } from '../backoff.ts'
import { pause } from '../pause.ts'
import { engineUnavailable } from './caller.ts'

interface FollowOptions<Event> {
  /** Opens the stream; it ends when the signal aborts. */
  readonly open: (signal: AbortSignal) => AsyncIterable<Event>
  /** The stream has begun, so no later event is missed. Events follow once it settles; a rejection ends the stream. */
  readonly onOpen?: () => Promise<void>
  readonly onEvent: (event: Event) => void
  /** The stream has failed, or the engine has ended it; it is opened again after a pause. */
  readonly onLost: (error: unknown) => void
  /** The pauses between two streams; they begin anew when one has opened. */
  readonly pauses: BackoffLimits
  /** Math.random unless given. */
  readonly random?: Random
  /** Ends everything. */
  readonly signal: AbortSignal
}

export interface Following {
  /** Settles when the signal has aborted and the last stream is closed; never rejects. */
  readonly ended: Promise<void>
  /** Ends the present pause. */
  retry(): void
}

/** Keeps a stream of the engine open until the signal aborts: opens it again after a pause when it is lost. */
export const follow = <Event>(options: FollowOptions<Event>): Following => {
  const { signal, onLost, pauses, random } = options
  const backoff = new Backoff(random)
  let pausing = new AbortController()
  const retry = (): void => pausing.abort()

  const keep = async (): Promise<void> => {
    signal.addEventListener('abort', retry)
    while (!signal.aborted) {
      const error = await untilLost(options, () => backoff.reset())
      if (signal.aborted) break
      pausing = new AbortController()
      onLost(error)
      await pause(backoff.next(pauses), pausing.signal)
    }
    signal.removeEventListener('abort', retry)
  }
  return { ended: keep(), retry }
}

/** One stream from its beginning to its end; answers why it ended. */
const untilLost = async <Event>({ open, onOpen, onEvent, signal }: FollowOptions<Event>, onOpened: () => void): Promise<unknown> => {
  let opened = false
  try {
    for await (const event of open(signal)) {
      if (!opened) {
        await onOpen?.()
        opened = true
        onOpened()
      }
      onEvent(event)
    }
    return engineUnavailable()
  } catch (error) {
    return error
  }
}
