import { isRecord } from '../json/is-record.ts'
import type { PartialSettings, Settings } from '../schema/settings.ts'

/** The defaults with the changes over them, field by field within groups. Drops names that the defaults do not have. */
export const withChanges = (defaults: Settings, changes: PartialSettings): Settings => ({
  start_timeout_seconds: changes.start_timeout_seconds ?? defaults.start_timeout_seconds,
  stall_timeout_seconds: changes.stall_timeout_seconds ?? defaults.stall_timeout_seconds,
  reconnect: overlay(defaults.reconnect, changes.reconnect),
  on_demand: overlay(defaults.on_demand, changes.on_demand),
  screenshots: overlay(defaults.screenshots, changes.screenshots),
  triggers: overlay(defaults.triggers, changes.triggers),
  encoder: overlay(defaults.encoder, changes.encoder),
  advanced: overlay(defaults.advanced, changes.advanced),
  readers: overlay(defaults.readers, changes.readers),
  cot: overlay(defaults.cot, changes.cot),
})

const overlay = <T extends object>(group: T, changes: { [K in keyof T]?: T[K] | undefined } = {}): T => {
  const merged = { ...group }
  for (const name of Object.keys(group) as (keyof T)[]) {
    const value = changes[name]
    if (value !== undefined) merged[name] = value
  }
  return merged
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
