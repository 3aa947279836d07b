import type { Settings } from '../api/types.ts'

interface Setting {
  /** Where it is in the record, such as `reconnect.initial_delay_ms`. */
  readonly path: string
  readonly name: string
  readonly unit?: string
  readonly help?: string
  readonly kind: 'number' | 'text' | 'password' | 'check' | 'list' | { readonly [value: string]: string }
  /** An empty field means null. */
  readonly nullable?: true
}

/** The settings as the page shows them. */
export const GROUPS: readonly { readonly title: string; readonly settings: readonly Setting[] }[] = [
  {
    title: 'Starting and reconnecting',
    settings: [
      { path: 'start_timeout_seconds', name: 'Longest start', unit: 's', kind: 'number' },
      { path: 'stall_timeout_seconds', name: 'Restart after no frame for', unit: 's', kind: 'number' },
      { path: 'reconnect.initial_delay_ms', name: 'First retry after', unit: 'ms', kind: 'number' },
      { path: 'reconnect.max_delay_seconds', name: 'Longest time between retries', unit: 's', kind: 'number' },
      { path: 'reconnect.give_up_after_seconds', name: 'Give up after', unit: 's', help: 'Empty: never', kind: 'number', nullable: true },
    ],
  },
  {
    title: 'On demand',
    settings: [
      { path: 'on_demand.start_on_read', name: 'The first reader starts the pipeline', kind: 'check' },
      { path: 'on_demand.close_after_seconds', name: 'Stop after the last reader has gone for', unit: 's', kind: 'number' },
    ],
  },
  {
    title: 'Readers',
    settings: [
      { path: 'readers.max_per_pipeline', name: 'Most readers of a pipeline', kind: 'number' },
      { path: 'readers.authentication', name: 'RTSP readers need', kind: { none: 'Nothing', password: 'User and password' } },
      { path: 'readers.username', name: 'User', kind: 'text' },
      { path: 'readers.password', name: 'Password of readers', help: '8 to 128 characters', kind: 'password', nullable: true },
    ],
  },
  {
    title: 'Screenshots',
    settings: [
      { path: 'screenshots.interval_seconds', name: 'One every', unit: 's', kind: 'number' },
      { path: 'screenshots.quality', name: 'Quality', unit: '1–100', kind: 'number' },
      { path: 'screenshots.max_files', name: 'Most files', kind: 'number' },
      { path: 'screenshots.max_megabytes', name: 'Most space', unit: 'MB', kind: 'number' },
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
      { path: 'advanced.enabled', name: 'Advanced pipelines are allowed', kind: 'check' },
      {
        path: 'advanced.denied_elements',
        name: 'Elements that are not allowed',
        help: 'Separated by spaces. Those that touch files or programs are never allowed.',
        kind: 'list',
      },
    ],
  },
  {
    title: 'Media server triggers',
    settings: [
      { path: 'triggers.give_up_after_seconds', name: 'Remove when the source is away for', unit: 's', kind: 'number' },
      { path: 'triggers.max_ephemeral', name: 'Most triggered pipelines', kind: 'number' },
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
      { path: 'cot.interval_ms', name: 'At most every', unit: 'ms', kind: 'number' },
    ],
  },
]

export type Value = string | number | boolean | null | readonly string[]

/** A record without its structure: values by path. */
export const flatten = (record: object, path = ''): Map<string, Value> =>
  new Map(
    Object.entries(record).flatMap(([name, value]) =>
      typeof value === 'object' && value !== null && !Array.isArray(value)
        ? [...flatten(value, `${path}${name}.`)]
        : [[`${path}${name}`, value as Value] as const],
    ),
  )

/** What was typed or ticked, by path. */
export type Changes = ReadonlyMap<string, string | boolean>

const SETTINGS: ReadonlyMap<string, Setting> = new Map(GROUPS.flatMap(({ settings }) => settings).map((setting) => [setting.path, setting]))

/** The body that makes these changes. */
export const patchOf = (changes: Changes): Partial<Settings> => {
  const body: Record<string, unknown> = {}
  for (const [path, typed] of changes) {
    const value = toValue(SETTINGS.get(path), typed)
    const [group = '', name] = path.split('.')
    if (name === undefined) body[group] = value
    else body[group] = { ...(body[group] as object | undefined), [name]: value }
  }
  return body
}

/** As the API takes it; text that is no number goes as it is, and the API says what is wrong. */
const toValue = (setting: Setting | undefined, typed: string | boolean): Value => {
  if (typeof typed === 'boolean') return typed
  if (setting?.nullable === true && typed.trim() === '') return null
  if (setting?.kind === 'list') return typed.split(/[\s,]+/).filter((element) => element !== '')
  return setting?.kind === 'number' && typed.trim() !== '' && Number.isFinite(Number(typed)) ? Number(typed) : typed
}

/** As a field shows it. */
export const typedOf = (value: Value | undefined): string | boolean => {
  if (typeof value === 'boolean') return value
  return Array.isArray(value) ? value.join(' ') : String(value ?? '')
}

export type { Setting }
