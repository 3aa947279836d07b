import * as v from 'valibot'
import { integerBetween } from './number.ts'

/** Elements that read or write files, open file descriptors or run programs: refused in advanced pipelines by default. */
export const DEFAULT_DENIED_ELEMENTS: readonly string[] = [
  'filesrc',
  'filesink',
  'fdsrc',
  'fdsink',
  'giosrc',
  'giosink',
  'multifilesrc',
  'multifilesink',
  'splitfilesrc',
  'splitmuxsrc',
  'splitmuxsink',
  'imagesequencesrc',
  'hlssink',
  'hlssink2',
  'dashsink',
  'curlfilesink',
  'curlftpsink',
  'curlsftpsink',
  'shmsrc',
  'shmsink',
  'unixfdsrc',
  'unixfdsink',
  'ipcpipelinesrc',
  'ipcpipelinesink',
  'dataurisrc',
]

const ENCODER_PREFERENCES = ['auto', 'software', 'hardware'] as const

export const settingsSchema = v.strictObject({
  start_timeout_seconds: integerBetween(1, 120),
  stall_timeout_seconds: integerBetween(2, 300),
  reconnect: v.strictObject({
    initial_delay_ms: integerBetween(50, 60000),
    max_delay_seconds: integerBetween(1, 3600),
    give_up_after_seconds: v.nullable(integerBetween(1, 31536000)),
  }),
  on_demand: v.strictObject({ start_on_read: v.boolean(), close_after_seconds: integerBetween(1, 3600) }),
  screenshots: v.strictObject({
    interval_seconds: integerBetween(1, 86400),
    quality: integerBetween(1, 100),
    max_files: integerBetween(1, 1000000),
    max_megabytes: integerBetween(1, 1048576),
  }),
  triggers: v.strictObject({ give_up_after_seconds: integerBetween(1, 86400), max_ephemeral: integerBetween(1, 1000) }),
  encoder: v.strictObject({ preference: v.picklist(ENCODER_PREFERENCES, `Use one of: ${ENCODER_PREFERENCES.join(', ')}`) }),
  advanced: v.strictObject({
    enabled: v.boolean(),
    denied_elements: v.pipe(
      v.array(v.pipe(v.string(), v.regex(/^[A-Za-z0-9_-]{1,64}$/, 'Use the name of a GStreamer element'))),
      v.maxLength(1000, 'At most 1000 elements'),
    ),
  }),
  readers: v.strictObject({ max_per_pipeline: integerBetween(1, 10000) }),
})

const { entries } = settingsSchema

/** Body of PUT: every field is optional, also within a group; a list is replaced as a whole. */
export const settingsPatchSchema = v.partial(
  v.strictObject({
    ...entries,
    reconnect: v.partial(entries.reconnect),
    on_demand: v.partial(entries.on_demand),
    screenshots: v.partial(entries.screenshots),
    triggers: v.partial(entries.triggers),
    encoder: v.partial(entries.encoder),
    advanced: v.partial(entries.advanced),
    readers: v.partial(entries.readers),
  }),
)

export type Settings = v.InferOutput<typeof settingsSchema>
/** Some of the settings. */
export type PartialSettings = v.InferOutput<typeof settingsPatchSchema>

export const DEFAULT_SETTINGS: Settings = {
  start_timeout_seconds: 10,
  stall_timeout_seconds: 10,
  reconnect: { initial_delay_ms: 500, max_delay_seconds: 30, give_up_after_seconds: null },
  on_demand: { start_on_read: true, close_after_seconds: 10 },
  screenshots: { interval_seconds: 10, quality: 85, max_files: 10000, max_megabytes: 2048 },
  triggers: { give_up_after_seconds: 60, max_ephemeral: 100 },
  encoder: { preference: 'auto' },
  advanced: { enabled: true, denied_elements: [...DEFAULT_DENIED_ELEMENTS] },
  readers: { max_per_pipeline: 1000 },
}
