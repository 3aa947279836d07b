import * as v from 'valibot'
import { MASK } from '../redact.ts'
import { cotSettingsSchema } from './cot.ts'
import { webhooksSchema } from './event.ts'
import type { AudioMode } from './pipeline.ts'
import { charactersOf, described, integerBetween, numberBetween, oneOf } from './primitives.ts'

/** Elements that read or write files, open file descriptors or run programs; never allowed in advanced pipelines. */
export const DENIED_ELEMENTS: readonly string[] = [
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
  'avmux_hls',
  'avmux_dash',
  'avmux_hds',
  'avmux_smoothstreaming',
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
  'qtmoovrecover',
]

const READER_AUTHENTICATION = ['none', 'password'] as const

/** What fits into a quoted string of Digest and the user name of Basic. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: refusing them is the point
const READER_USERNAME = /^[^\u0000-\u001f\u007f:"\\]{1,64}$/

// biome-ignore lint/suspicious/noControlCharactersInRegex: refusing them is the point
const READER_TEXT = /^[^\u0000-\u001f\u007f]*$/

const READER_PASSWORD = 'Password of the RTSP readers, 8 to 128 characters; null: none. Answers show ***, which keeps it when sent back'

const AUDIO_DEFAULTS = ['copy', 'off'] as const satisfies readonly AudioMode[]

export const MAX_START_TIMEOUT_SECONDS = 120

const ENCODER_PREFERENCES = ['auto', 'software', 'hardware'] as const

/** The settings that the engine needs. */
export const engineSettingsSchema = v.strictObject({
  start_timeout_seconds: described(
    integerBetween(1, MAX_START_TIMEOUT_SECONDS),
    'Maximum time from a start to the first media, seconds; applies from the next start',
  ),
  stall_timeout_seconds: described(
    integerBetween(2, 300),
    'A pipeline without a frame for this time is restarted, seconds; applies at once',
  ),
  reconnect: v.strictObject({
    initial_delay_ms: described(
      integerBetween(50, 60000),
      'Delay before the first restart, milliseconds; doubles with each restart, and is then up to 25 % shorter at random',
    ),
    max_delay_seconds: described(integerBetween(1, 3600), 'Maximum delay between two restarts, seconds'),
    give_up_after_seconds: described(
      v.nullable(integerBetween(1, 31536000)),
      'A pipeline whose source is unavailable for this time fails, seconds; null: never',
    ),
  }),
  on_demand: v.strictObject({
    start_on_read: described(v.boolean(), 'The first reader of an on-demand pipeline starts it'),
    close_after_seconds: described(integerBetween(1, 3600), 'An on-demand pipeline without readers for this time is stopped, seconds'),
  }),
  audio_default: described(
    oneOf(AUDIO_DEFAULTS),
    'audio of new pipelines that do not state it; copy: with the sound of the source, off: without',
  ),
  screenshots: v.strictObject({
    interval_seconds: described(integerBetween(1, 86400), 'Default time between two screenshots, seconds'),
    quality: described(integerBetween(1, 100), 'Default JPEG quality'),
    max_files: described(integerBetween(1, 1000000), 'Beyond this many files the oldest are deleted'),
    max_megabytes: described(
      integerBetween(1, 1048576),
      'Beyond this size of all files the oldest are deleted, megabytes of 1,000,000 bytes',
    ),
  }),
  recordings: v.strictObject({
    segment_seconds: described(
      numberBetween(1, 60),
      'A file of a recording has this length at least, seconds, and ends before a key frame',
    ),
    max_hours: described(numberBetween(0.001, 876000), 'Older recordings are deleted, hours; fractions are allowed'),
    max_gigabytes: described(
      numberBetween(0.001, 1000000),
      'Beyond this size of all recordings the oldest are deleted, gigabytes of 1,000,000,000 bytes',
    ),
    min_free_gigabytes: described(
      numberBetween(0, 1000000),
      'Below this free space on the disk the oldest recordings are deleted, gigabytes of 1,000,000,000 bytes',
    ),
  }),
  triggers: v.strictObject({
    give_up_after_seconds: described(
      integerBetween(1, 86400),
      'A triggered pipeline whose source is unavailable for this time is removed, seconds',
    ),
    max_ephemeral: described(integerBetween(1, 1000), 'Maximum number of triggered pipelines'),
  }),
  encoder: v.strictObject({
    preference: described(
      oneOf(ENCODER_PREFERENCES),
      'auto: a hardware encoder that passed its test, otherwise software; applies from the next start of a pipeline',
    ),
  }),
  advanced: v.strictObject({
    enabled: described(v.boolean(), 'Whether advanced pipelines can be created and started; playing ones continue'),
    denied_elements: v.pipe(
      v.array(v.pipe(v.string(), v.regex(/^[A-Za-z0-9_-]{1,64}$/, 'Use the name of a GStreamer element'))),
      v.maxLength(1000, 'Use at most 1000 elements'),
      v.description(
        'Elements that an advanced pipeline may not contain, in addition to the built-in ones (the default), which are never allowed; checked when a pipeline is created, replaced, validated and started',
      ),
    ),
  }),
  readers: v.strictObject({
    max_per_pipeline: described(integerBetween(1, 10000), 'Maximum number of readers of a pipeline, over RTSP and of live video over HTTP'),
    authentication: described(
      oneOf(READER_AUTHENTICATION),
      'none: readers need no password; password: they need the user name and the password. Applies at once',
    ),
    username: v.pipe(
      v.string('Use a string'),
      v.regex(READER_USERNAME, 'Use 1 to 64 characters without control characters, colons, quotation marks and backslashes'),
      v.description('User name of the RTSP readers, 1 to 64 characters'),
    ),
    password: described(v.nullable(v.string('Use a string or null')), READER_PASSWORD),
  }),
  cot: cotSettingsSchema,
})

export const settingsSchema = v.strictObject({ ...engineSettingsSchema.entries, webhooks: webhooksSchema })

const { entries } = settingsSchema

/** The mask stands for the stored password. */
const newPassword = described(
  v.nullable(
    v.pipe(
      v.string('Use a string or null'),
      v.check((password) => password === MASK || charactersOf(password) >= 8, 'Use at least 8 characters'),
      v.check((password) => charactersOf(password) <= 128, 'Use at most 128 characters'),
      v.regex(READER_TEXT, 'Use no control characters'),
    ),
  ),
  READER_PASSWORD,
)

/** Body of PUT: every field is optional, also within a group; lists are replaced as a whole. */
export const settingsPatchSchema = v.partial(
  v.strictObject({
    ...entries,
    reconnect: v.partial(entries.reconnect),
    on_demand: v.partial(entries.on_demand),
    screenshots: v.partial(entries.screenshots),
    recordings: v.partial(entries.recordings),
    triggers: v.partial(entries.triggers),
    encoder: v.partial(entries.encoder),
    advanced: v.partial(entries.advanced),
    readers: v.partial(v.strictObject({ ...entries.readers.entries, password: newPassword })),
    cot: v.partial(entries.cot),
  }),
)

export type Settings = v.InferOutput<typeof settingsSchema>
export type EngineSettings = v.InferOutput<typeof engineSettingsSchema>
export type PartialSettings = v.InferOutput<typeof settingsPatchSchema>

export const DEFAULT_SETTINGS: Settings = {
  start_timeout_seconds: 10,
  stall_timeout_seconds: 10,
  reconnect: { initial_delay_ms: 500, max_delay_seconds: 30, give_up_after_seconds: null },
  on_demand: { start_on_read: true, close_after_seconds: 10 },
  audio_default: 'copy',
  screenshots: { interval_seconds: 10, quality: 85, max_files: 10000, max_megabytes: 2048 },
  recordings: { segment_seconds: 4, max_hours: 168, max_gigabytes: 100, min_free_gigabytes: 2 },
  triggers: { give_up_after_seconds: 60, max_ephemeral: 100 },
  encoder: { preference: 'auto' },
  advanced: { enabled: true, denied_elements: [...DENIED_ELEMENTS] },
  readers: { max_per_pipeline: 1000, authentication: 'none', username: 'viewer', password: null },
  cot: { uri: null, interval_ms: 1000 },
  webhooks: [],
}
