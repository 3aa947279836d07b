import * as v from 'valibot'
import { described, integerBetween } from './primitives.ts'

/** Elements that read or write files, open file descriptors or run programs: refused in advanced pipelines by default. */
const DEFAULT_DENIED_ELEMENTS: readonly string[] = [
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
  start_timeout_seconds: described(integerBetween(1, 120), 'How long a start may take until media flows, seconds; from the next start'),
  stall_timeout_seconds: described(
    integerBetween(2, 300),
    'A pipeline without a frame for this long is restarted, seconds; effective at once',
  ),
  reconnect: v.strictObject({
    initial_delay_ms: described(integerBetween(50, 60000), 'Wait before the first restart, milliseconds; doubles each time'),
    max_delay_seconds: described(integerBetween(1, 3600), 'Longest wait between two restarts, seconds'),
    give_up_after_seconds: described(
      v.nullable(integerBetween(1, 31536000)),
      'A pipeline whose source is away for this long fails, seconds; null: never',
    ),
  }),
  on_demand: v.strictObject({
    start_on_read: described(v.boolean(), 'The first RTSP reader of an on-demand pipeline starts it'),
    close_after_seconds: described(integerBetween(1, 3600), 'An on-demand pipeline without readers for this long is stopped, seconds'),
  }),
  screenshots: v.strictObject({
    interval_seconds: described(integerBetween(1, 86400), 'Time between screenshots when screenshots/start gives none, seconds'),
    quality: described(integerBetween(1, 100), 'JPEG quality when screenshots/start gives none'),
    max_files: described(integerBetween(1, 1000000), 'Beyond this many files the oldest are deleted'),
    max_megabytes: described(
      integerBetween(1, 1048576),
      'Beyond this size of all files the oldest are deleted, megabytes of 1,000,000 bytes',
    ),
  }),
  triggers: v.strictObject({
    give_up_after_seconds: described(
      integerBetween(1, 86400),
      'A triggered pipeline whose source is away for this long is removed, seconds',
    ),
    max_ephemeral: described(integerBetween(1, 1000), 'Most triggered pipelines at once'),
  }),
  encoder: v.strictObject({
    preference: described(
      v.picklist(ENCODER_PREFERENCES, `Use one of: ${ENCODER_PREFERENCES.join(', ')}`),
      'auto: hardware that passed its test, else software; from the next start of a pipeline',
    ),
  }),
  advanced: v.strictObject({
    enabled: described(v.boolean(), 'Whether advanced pipelines may be created and started'),
    denied_elements: v.pipe(
      v.array(v.pipe(v.string(), v.regex(/^[A-Za-z0-9_-]{1,64}$/, 'Use the name of a GStreamer element'))),
      v.maxLength(1000, 'At most 1000 elements'),
      v.description('Elements that an advanced pipeline may not name'),
    ),
  }),
  readers: v.strictObject({ max_per_pipeline: described(integerBetween(1, 10000), 'Most RTSP readers of one pipeline') }),
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
