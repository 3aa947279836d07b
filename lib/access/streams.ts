import type { Log } from '../ports.ts'
import { type AccessDeps, type Admission, isStillAdmitted } from './access.ts'
import type { ClientLimits } from './client-limits.ts'

interface StreamsDeps extends AccessDeps {
  readonly limits: Pick<ClientLimits, 'openStream'>
  readonly log: Log
}

/** The client that opened a stream. */
interface StreamClient {
  readonly admission: Admission
  readonly clientAddress: string | undefined
}

/** The open streams of clients, which end when their session does. */
export interface Streams {
  /**
   * Counts a stream until the returned function is called. Calls `end` when its session has ended or, for a stream without a
   * credential, a password is set. RATE_LIMITED when the client has too many streams.
   */
  open(client: StreamClient, end: () => void): () => void
}

/** Time between two checks, milliseconds: other processes change passwords and sessions too. */
const CHECK_EVERY_MS = 500
/** How long streams continue while the database does not answer, milliseconds. */
const UNCHECKED_MS = 300_000

interface OpenStream {
  readonly admission: Admission
  readonly end: () => void
}

export const createStreams = (deps: StreamsDeps): Streams => {
  const open = new Set<OpenStream>()
  let timer: ReturnType<typeof setInterval> | undefined
  let checking = false
  let failingSince: number | undefined

  const endAll = (streams: readonly OpenStream[]): void => {
    for (const stream of streams) if (open.delete(stream)) stream.end()
  }

  const check = async (): Promise<void> => {
    if (checking) return
    checking = true
    try {
      for await (const streams of noLongerAdmitted(deps, open)) endAll(streams)
      failingSince = undefined
    } catch (error) {
      onFailure(error)
    } finally {
      checking = false
    }
  }

  const onFailure = (error: unknown): void => {
    const now = deps.clock.now()
    if (failingSince === undefined) deps.log.warn('sessions_not_checked', { error })
    failingSince ??= now
    if (now - failingSince >= UNCHECKED_MS) endAll([...open])
  }

  return {
    open({ admission, clientAddress }, end) {
      const release = deps.limits.openStream(clientAddress)
      if (admission.by === 'api_key') return release
      const stream = { admission, end }
      open.add(stream)
      timer ??= setInterval(() => void check(), CHECK_EVERY_MS)
      return () => {
        release()
        open.delete(stream)
        if (open.size > 0) return
        clearInterval(timer)
        timer = undefined
        failingSince = undefined
      }
    },
  }
}

/** Groups of streams with one credential; one query at a time. */
async function* noLongerAdmitted(deps: AccessDeps, open: ReadonlySet<OpenStream>): AsyncGenerator<readonly OpenStream[]> {
  for (const streams of Map.groupBy(open, ({ admission }) => keyOf(admission)).values()) {
    const [first] = streams
    if (first !== undefined && !(await isStillAdmitted(deps, first.admission))) yield streams
  }
}

const keyOf = (admission: Admission): string => (admission.by === 'session' ? admission.tokenHash : admission.by)
