import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { isRecord } from '../../../lib/json/is-record.ts'
import type { Document } from './reconcile.ts'

/** What holds while the servers of the fleet are not reached, also after a restart. */
export interface Held {
  readonly document: Document | null
  readonly appliedRevision: number | null
}

const NOTHING: Held = { document: null, appliedRevision: null }

/** The last document, in the data directory. A file that is missing or damaged holds nothing: the next link brings the document again. */
export const readHeld = (path: string): Held => {
  let value: unknown
  try {
    value = JSON.parse(readFileSync(path, 'utf8'))
  } catch {
    return NOTHING
  }
  if (!isRecord(value)) return NOTHING
  const { revision, text, applied_revision } = value
  return {
    document: typeof revision === 'number' && typeof text === 'string' ? { revision, text } : null,
    appliedRevision: typeof applied_revision === 'number' ? applied_revision : null,
  }
}

/** Throws when it cannot be written. The disk is not waited for: what a power failure takes, the next link brings again. */
export const writeHeld = (path: string, { document, appliedRevision }: Held): void => {
  const draft = `${path}.new`
  writeFileSync(draft, JSON.stringify({ ...document, applied_revision: appliedRevision }), { mode: 0o600 })
  renameSync(draft, path)
}
