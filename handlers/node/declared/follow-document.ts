import { messageOf } from '../../../lib/errors.ts'
import { pause, within } from '../../../lib/pause.ts'
import type { Log } from '../../../lib/ports.ts'
import type { Declaration } from '../../declared/declaration.ts'
import { readDeclaration } from '../../declared/declaration.ts'
import type { RemoteDocument } from './remote-document.ts'

/** Time between two looks, milliseconds. */
const LOOK_EVERY_MS = 60_000
/** A start does not wait longer for the document, milliseconds. */
const START_WAITS_MS = 3000

interface FollowOptions {
  /** Makes the service what the document declares; settles after the first attempt. `superseded` ends further attempts. */
  readonly apply: (declaration: Declaration, superseded: AbortSignal) => Promise<void>
  readonly log: Log
  readonly stopping: AbortSignal
}

/**
 * Applies a document now, and whenever it has changed, until the service stops. A document that cannot be had, or is wrong, is a line in
 * the log; what was applied before stays. Settles after the first attempt, or soon.
 */
export const followDocument = async (document: RemoteDocument, options: FollowOptions): Promise<void> => {
  const { log, stopping } = options
  const look = createLook(document, options)
  const first = look()
  const goOn = async (): Promise<void> => {
    await first
    for (;;) {
      await pause(LOOK_EVERY_MS, stopping)
      if (stopping.aborted) return
      await look()
    }
  }
  goOn().catch((error: unknown) => log.error('declared_pipelines_failed', { error: messageOf(error) }))
  await within(first, START_WAITS_MS)
}

/** Reads the document, and applies it when it is another one. Never rejects. */
const createLook = (document: RemoteDocument, { apply, log, stopping }: FollowOptions): (() => Promise<void>) => {
  const { name } = document
  let applied = new AbortController()
  stopping.addEventListener('abort', () => applied.abort(), { once: true })
  let problem: string | undefined
  const read = async (): Promise<string | undefined> => {
    try {
      const text = await document.read(stopping)
      if (problem !== undefined) log.info('declared_pipelines_available', { address: name })
      problem = undefined
      return text
    } catch (error) {
      // The same reason is not repeated each minute.
      if (!stopping.aborted && messageOf(error) !== problem)
        log.warn('declared_pipelines_unavailable', { address: name, error: messageOf(error) })
      problem = messageOf(error)
      return undefined
    }
  }
  return async () => {
    const text = await read()
    if (text === undefined || stopping.aborted) return
    try {
      const declaration = readDeclaration(text, name)
      applied.abort()
      applied = new AbortController()
      await apply(declaration, applied.signal)
    } catch (error) {
      log.error('declared_pipelines_failed', { error: messageOf(error) })
    }
  }
}
