import type { KV } from '@nats-io/kv'
import { messageOf } from '../../../lib/errors.ts'
import { DESIRED_BUCKET, subjectOfKey } from '../../../lib/fleet/names.ts'
import { pause, within } from '../../../lib/pause.ts'
import type { Log } from '../../../lib/ports.ts'
import { mayMissStream } from '../nats/stores.ts'
import type { Linked } from './linked.ts'
import type { Document } from './reconcile.ts'

/** Between two reads without a message, milliseconds: a message may be lost when servers of a cluster change. */
const READ_EVERY_MS = 30_000
/** Time per character of the document, so that large ones are not transferred all the time. */
const MS_PER_CHARACTER = 1
/** After a message, until the store shows the change: a server of a cluster may be behind the others. Milliseconds. */
const BEHIND_MS = [0, 25, 50, 100, 200, 400, 800, 1600]
/** Between the next reads after the first one of a connection, and after a message whose change was not shown in that time. Milliseconds. */
const SOON_MS = [1000, 4000]
const RETRY_MS = 1000

interface Options {
  readonly host: string
  readonly log: Log
  readonly onDocument: (document: Document) => void
  /** Deleted, or never stored. */
  readonly onNone: (isDeleted: boolean) => void
}

/**
 * Reads the document of this host now and whenever it changes, until the connection is lost. The store is read by the key alone, and
 * changes come as messages of its subject: a host needs no rights for anything else, and no consumer in the servers.
 */
export const watchDocument = async ({ connection, stores, create, signal }: Linked, options: Options): Promise<void> => {
  const { host, log } = options
  let changed = Promise.withResolvers<void>()
  signal.addEventListener('abort', () => changed.resolve(), { once: true })
  connection.subscribe(subjectOfKey(DESIRED_BUCKET, host), {
    callback: (error) => {
      if (error) log.warn('fleet_document_not_watched', { error: messageOf(error) })
      else changed.resolve()
    },
  })
  // A flush of a connection that is lost never settles.
  await Promise.race([connection.flush(), changed.promise])
  const reader = createReader(stores.desired, options)
  let waitMs = READ_EVERY_MS
  let hasChanged = false
  let soon = [...SOON_MS]
  while (!signal.aborted) {
    changed = Promise.withResolvers()
    try {
      const isNew = await readUntilNew(reader, hasChanged ? BEHIND_MS : [0], signal)
      if (hasChanged) soon = isNew ? [] : [...SOON_MS]
      waitMs = soon.shift() ?? Math.max(READ_EVERY_MS, reader.length * MS_PER_CHARACTER)
    } catch (error) {
      if (signal.aborted) return
      waitMs = RETRY_MS
      if (mayMissStream(error)) await create()
      log.warn('fleet_document_not_read', { error: messageOf(error) })
    }
    hasChanged =
      (await within(
        changed.promise.then(() => true),
        waitMs,
      )) === true
  }
}

/** Reads after each of these pauses, until the document differs from the last one; answers whether it does. */
const readUntilNew = async (reader: Reader, pauses: readonly number[], signal: AbortSignal): Promise<boolean> => {
  for (const ms of pauses) {
    await pause(ms, signal)
    if (signal.aborted) return false
    if (await reader.read()) return true
  }
  return false
}

interface Reader {
  /** Characters of the document. */
  readonly length: number
  /** Answers whether it differs from the last one. */
  read(): Promise<boolean>
}

const createReader = (bucket: KV, { host, onDocument, onNone }: Options): Reader => {
  let seen: number | null | undefined
  let length = 0
  return {
    get length() {
      return length
    },
    async read() {
      const entry = await bucket.get(host)
      const revision = entry?.revision ?? null
      if (revision === seen) return false
      seen = revision
      const text = entry?.operation === 'PUT' ? entry.string() : undefined
      length = text?.length ?? 0
      if (entry === null || text === undefined) onNone(entry !== null)
      else onDocument({ revision: entry.revision, text })
      return true
    },
  }
}
