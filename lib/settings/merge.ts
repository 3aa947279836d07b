import { isRecord } from '../json/is-record.ts'
import type { PartialSettings, Settings } from '../schema/settings.ts'

type Fields = Readonly<Record<string, unknown>>

/** The defaults with the changes over them, field by field within groups. Drops names that the defaults do not have. */
export const withChanges = (defaults: Settings, changes: PartialSettings): Settings => overlay(defaults, changes) as Settings

const overlay = (defaults: Fields, changes: Fields): Fields =>
  Object.fromEntries(Object.entries(defaults).map(([name, value]) => [name, changed(value, changes[name])]))

const changed = (value: unknown, change: unknown): unknown => {
  if (isRecord(value)) return overlay(value, isRecord(change) ? change : {})
  return change === undefined ? value : change
}

/** Stored changes with newer ones over them, field by field within groups. */
export const mergePartial = (stored: PartialSettings, patch: PartialSettings): PartialSettings => {
  const merged: Record<string, unknown> = { ...stored }
  for (const [name, value] of Object.entries(patch)) {
    const before = merged[name]
    merged[name] = isRecord(value) && isRecord(before) ? { ...before, ...value } : value
  }
  return merged
}
