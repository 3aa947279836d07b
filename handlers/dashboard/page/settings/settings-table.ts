import { nested } from '../../../client/nested.ts'
import type { Settings } from '../api/types.ts'

export interface Setting {
  readonly name: string
  readonly unit?: string
  readonly help?: string
  readonly kind: 'number' | 'text' | 'password' | 'check' | 'list' | { readonly [value: string]: string }
  /** An empty field is null. */
  readonly nullable?: true
}

/** `reconnect.initial_delay_ms` */
type Paths<T> = {
  [Name in keyof T & string]: T[Name] extends object ? (T[Name] extends readonly unknown[] ? Name : `${Name}.${Paths<T[Name]>}`) : Name
}[keyof T & string]

/** Webhooks have a panel of their own. */
type FormSettings = Omit<Settings, 'webhooks'>

/** Every setting of the form, by dotted path, in the order of the page. */
export const SETTINGS: Readonly<Record<Paths<FormSettings>, Setting>> = {
  start_timeout_seconds: { name: 'Start timeout', unit: 's', kind: 'number' },
  stall_timeout_seconds: { name: 'Stall timeout', unit: 's', kind: 'number' },
  'reconnect.initial_delay_ms': { name: 'First retry delay', unit: 'ms', kind: 'number' },
  'reconnect.max_delay_seconds': { name: 'Max. retry delay', unit: 's', kind: 'number' },
  'reconnect.give_up_after_seconds': { name: 'Give up after', unit: 's', help: 'Empty: never', kind: 'number', nullable: true },
  'on_demand.start_on_read': { name: 'Start with the first reader', kind: 'check' },
  'on_demand.close_after_seconds': { name: 'Stop delay after the last reader', unit: 's', kind: 'number' },
  'readers.max_per_pipeline': { name: 'Max. readers per pipeline', kind: 'number' },
  'readers.authentication': { name: 'RTSP authentication', kind: { none: 'None', password: 'User and password' } },
  'readers.username': { name: 'User', kind: 'text' },
  'readers.password': { name: 'Reader password', help: '8 to 128 characters', kind: 'password', nullable: true },
  audio_default: { name: 'Sound of new pipelines', kind: { copy: 'As the source sends it', off: 'None' } },
  'screenshots.interval_seconds': { name: 'Interval', unit: 's', kind: 'number' },
  'screenshots.quality': { name: 'Quality', unit: '1–100', kind: 'number' },
  'screenshots.max_files': { name: 'Max. files', kind: 'number' },
  'screenshots.max_megabytes': { name: 'Disk limit', unit: 'MB', kind: 'number' },
  'recordings.segment_seconds': { name: 'Length of a file', unit: 's', kind: 'number' },
  'recordings.max_hours': { name: 'Keep for', unit: 'h', kind: 'number' },
  'recordings.max_gigabytes': { name: 'Disk limit', unit: 'GB', kind: 'number' },
  'recordings.min_free_gigabytes': { name: 'Keep free', unit: 'GB', kind: 'number' },
  'encoder.preference': {
    name: 'Encoders',
    kind: { auto: 'Hardware if it works, else software', software: 'Software only', hardware: 'Hardware only' },
  },
  'advanced.enabled': { name: 'Allow advanced pipelines', kind: 'check' },
  'advanced.denied_elements': {
    name: 'Denied elements',
    help: 'Separated by spaces. Elements that access files or programs are always denied.',
    kind: 'list',
  },
  'triggers.give_up_after_seconds': { name: 'Remove after loss of the source for', unit: 's', kind: 'number' },
  'triggers.max_ephemeral': { name: 'Max. triggered pipelines', kind: 'number' },
  'cot.uri': { name: 'Send positions to', help: 'udp://host:port or tcp://host:port; empty: nowhere', kind: 'text', nullable: true },
  'cot.interval_ms': { name: 'Min. interval', unit: 'ms', kind: 'number' },
}

const TITLES: Readonly<Record<keyof FormSettings, string>> = {
  start_timeout_seconds: 'Starting and reconnecting',
  stall_timeout_seconds: 'Starting and reconnecting',
  reconnect: 'Starting and reconnecting',
  on_demand: 'On demand',
  readers: 'Readers',
  audio_default: 'Sound',
  screenshots: 'Screenshots',
  recordings: 'Recordings',
  encoder: 'Encoding and advanced pipelines',
  advanced: 'Encoding and advanced pipelines',
  triggers: 'Media server triggers',
  cot: 'Cursor on Target (TAK)',
}

const titleOf = (path: string): string => TITLES[path.split('.')[0] as keyof FormSettings]

/** Title, and the settings below it by path. */
export const GROUPS: ReadonlyMap<string, readonly (readonly [path: string, Setting])[]> = Map.groupBy(Object.entries(SETTINGS), ([path]) =>
  titleOf(path),
)

type Value = string | number | boolean | null | readonly string[]

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

/** The body that makes these changes. */
export const patchOf = (changes: Changes): Partial<Settings> =>
  nested([...changes].map(([path, typed]) => [path, toValue(SETTINGS[path as keyof typeof SETTINGS], typed)]))

/** The value for the API, which refuses text that is not a number. */
const toValue = (setting: Setting, typed: string | boolean): Value => {
  if (typeof typed === 'boolean') return typed
  if (setting.nullable === true && typed.trim() === '') return null
  if (setting.kind === 'list') return typed.split(/[\s,]+/).filter((element) => element !== '')
  return setting.kind === 'number' && typed.trim() !== '' && Number.isFinite(Number(typed)) ? Number(typed) : typed
}

/** The text of a field. */
export const typedOf = (value: Value | undefined): string | boolean => {
  if (typeof value === 'boolean') return value
  return Array.isArray(value) ? value.join(' ') : String(value ?? '')
}
