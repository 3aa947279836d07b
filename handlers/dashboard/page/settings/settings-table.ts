import { nested } from '../../../client/nested.ts'
import type { Settings } from '../api/types.ts'

export interface Setting {
  /** Dotted path, such as `reconnect.initial_delay_ms`. */
  readonly path: string
  readonly name: string
  readonly unit?: string
  readonly help?: string
  readonly kind: 'number' | 'text' | 'password' | 'check' | 'list' | { readonly [value: string]: string }
  /** An empty field is null. */
  readonly nullable?: true
}

/** The settings in the order of the page. */
export const GROUPS: readonly { readonly title: string; readonly settings: readonly Setting[] }[] = [
  {
    title: 'Starting and reconnecting',
    settings: [
      { path: 'start_timeout_seconds', name: 'Start timeout', unit: 's', kind: 'number' },
      { path: 'stall_timeout_seconds', name: 'Stall timeout', unit: 's', kind: 'number' },
      { path: 'reconnect.initial_delay_ms', name: 'First retry delay', unit: 'ms', kind: 'number' },
      { path: 'reconnect.max_delay_seconds', name: 'Max. retry delay', unit: 's', kind: 'number' },
      { path: 'reconnect.give_up_after_seconds', name: 'Give up after', unit: 's', help: 'Empty: never', kind: 'number', nullable: true },
    ],
  },
  {
    title: 'On demand',
    settings: [
      { path: 'on_demand.start_on_read', name: 'Start with the first reader', kind: 'check' },
      { path: 'on_demand.close_after_seconds', name: 'Stop delay after the last reader', unit: 's', kind: 'number' },
    ],
  },
  {
    title: 'Readers',
    settings: [
      { path: 'readers.max_per_pipeline', name: 'Max. readers per pipeline', kind: 'number' },
      { path: 'readers.authentication', name: 'RTSP authentication', kind: { none: 'None', password: 'User and password' } },
      { path: 'readers.username', name: 'User', kind: 'text' },
      { path: 'readers.password', name: 'Reader password', help: '8 to 128 characters', kind: 'password', nullable: true },
    ],
  },
  {
    title: 'Screenshots',
    settings: [
      { path: 'screenshots.interval_seconds', name: 'Interval', unit: 's', kind: 'number' },
      { path: 'screenshots.quality', name: 'Quality', unit: '1–100', kind: 'number' },
      { path: 'screenshots.max_files', name: 'Max. files', kind: 'number' },
      { path: 'screenshots.max_megabytes', name: 'Disk limit', unit: 'MB', kind: 'number' },
    ],
  },
  {
    title: 'Encoding and advanced pipelines',
    settings: [
      {
        path: 'encoder.preference',
        name: 'Encoders',
        kind: { auto: 'Hardware if it works, else software', software: 'Software only', hardware: 'Hardware only' },
      },
      { path: 'advanced.enabled', name: 'Allow advanced pipelines', kind: 'check' },
      {
        path: 'advanced.denied_elements',
        name: 'Denied elements',
        help: 'Separated by spaces. Elements that access files or programs are always denied.',
        kind: 'list',
      },
    ],
  },
  {
    title: 'Media server triggers',
    settings: [
      { path: 'triggers.give_up_after_seconds', name: 'Remove after loss of the source for', unit: 's', kind: 'number' },
      { path: 'triggers.max_ephemeral', name: 'Max. triggered pipelines', kind: 'number' },
    ],
  },
  {
    title: 'Cursor on Target (TAK)',
    settings: [
      {
        path: 'cot.uri',
        name: 'Send positions to',
        help: 'udp://host:port or tcp://host:port; empty: nowhere',
        kind: 'text',
        nullable: true,
      },
      { path: 'cot.interval_ms', name: 'Min. interval', unit: 'ms', kind: 'number' },
    ],
  },
]

export type Value = string | number | boolean | null | readonly string[]

/** The values of a record by dotted path. */
export const flatten = (record: object, path = ''): Map<string, Value> =>
  new Map(
    Object.entries(record).flatMap(([name, value]) =>
      typeof value === 'object' && value !== null && !Array.isArray(value)
        ? [...flatten(value, `${path}${name}.`)]
        : [[`${path}${name}`, value as Value] as const],
    ),
  )

/** Changed fields by path, as they were typed. */
export type Changes = ReadonlyMap<string, string | boolean>

const SETTINGS: ReadonlyMap<string, Setting> = new Map(GROUPS.flatMap(({ settings }) => settings).map((setting) => [setting.path, setting]))

/** The body that makes these changes. */
export const patchOf = (changes: Changes): Partial<Settings> =>
  nested([...changes].map(([path, typed]) => [path, toValue(SETTINGS.get(path), typed)]))

/** The value for the API, which refuses text that is not a number. */
const toValue = (setting: Setting | undefined, typed: string | boolean): Value => {
  if (typeof typed === 'boolean') return typed
  if (setting?.nullable === true && typed.trim() === '') return null
  if (setting?.kind === 'list') return typed.split(/[\s,]+/).filter((element) => element !== '')
  return setting?.kind === 'number' && typed.trim() !== '' && Number.isFinite(Number(typed)) ? Number(typed) : typed
}

/** The text of a field. */
export const typedOf = (value: Value | undefined): string | boolean => {
  if (typeof value === 'boolean') return value
  return Array.isArray(value) ? value.join(' ') : String(value ?? '')
}
