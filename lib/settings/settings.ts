import * as v from 'valibot'
import type { Engine } from '../engine/protocol.ts'
import { type ApiError, messageOf } from '../errors.ts'
import { etagOf, requireMatch } from '../etag.ts'
import { isRecord } from '../json/is-record.ts'
import type { KeyedQueue } from '../keyed-queue.ts'
import type { Clock, Log } from '../ports.ts'
import { MASK } from '../redact.ts'
import type { SettingsRepository } from '../repositories/repositories.ts'
import { DEFAULT_SETTINGS, type EngineSettings, type PartialSettings, type Settings, settingsPatchSchema } from '../schema/settings.ts'
import { validate, validationError } from '../validate.ts'
import { mergePartial, withChanges } from './merge.ts'
import { maskWebhook, restoreWebhooks } from './webhook-secrets.ts'

export interface SettingsDeps {
  readonly settings: SettingsRepository
  readonly engine: Engine
  readonly changes: KeyedQueue
  readonly apiKey: string
  readonly clock: Clock
  readonly log: Log
}

/** Key in the queue of changes; no pipeline id has a blank. */
const QUEUE = ' settings'

/** All settings: the defaults with the stored changes, with passwords and secrets. */
export const readSettings = async (settings: SettingsRepository): Promise<Settings> =>
  withChanges(DEFAULT_SETTINGS, usable(await settings.read()))

/** Those for the engine, which needs no secrets of others. */
export const forEngine = ({ webhooks: _, ...settings }: Settings): EngineSettings => settings

/**
 * The stored fields that this version refuses because another version has stored them; their defaults are used. Not those of `readers`
 * and `advanced`, whose defaults protect less.
 */
export const refusedFields = (stored: PartialSettings): readonly string[] => {
  const { issues = [] } = v.safeParse(settingsPatchSchema, stored)
  const fields = issues.map((issue) => (v.getDotPath(issue) ?? '').split('.').slice(0, 2).join('.'))
  return [...new Set(fields)].filter((field) => !/^(?:readers|advanced)\b/.test(field))
}

const usable = (stored: PartialSettings): PartialSettings => {
  let kept: Readonly<Record<string, unknown>> = { ...stored }
  for (const field of refusedFields(stored)) {
    const [name = '', inner] = field.split('.')
    const { [name]: group, ...others } = kept
    kept = inner !== undefined && isRecord(group) ? { ...others, [name]: without(group, inner) } : others
  }
  return kept
}

const without = (group: Record<string, unknown>, name: string): Record<string, unknown> =>
  Object.fromEntries(Object.entries(group).filter(([each]) => each !== name))

/** Settings as an answer shows them. */
export const maskSettings = (settings: Settings): Settings => ({
  ...settings,
  readers: { ...settings.readers, password: settings.readers.password === null ? null : MASK },
  webhooks: settings.webhooks.map(maskWebhook),
})

/** The ETag of settings with their secrets. The API key is part of the hash, so that they cannot be guessed from it. */
export const etagOfSettings = ({ apiKey }: Pick<SettingsDeps, 'apiKey'>, settings: Settings): Promise<string> =>
  etagOf({ settings, apiKey })

/**
 * Changes the given fields and returns all settings, with secrets. The engine gets its part before they are stored. PRECONDITION_FAILED
 * after another change.
 */
export const changeSettings = async (deps: SettingsDeps, input: unknown, ifMatch: string | null = null): Promise<Settings> => {
  const patch = validate(settingsPatchSchema, input, 'settings record')
  return deps.changes(QUEUE, async () => {
    const stored = usable(await deps.settings.read())
    if (ifMatch !== null) requireMatch(ifMatch, await etagOfSettings(deps, withChanges(DEFAULT_SETTINGS, stored)), 'settings')
    const changes = mergePartial(stored, restoreWebhooks(restorePassword(patch, stored), stored))
    const changed = withChanges(DEFAULT_SETTINGS, changes)
    requireReaderPassword(changed)
    await deps.engine.configure(forEngine(changed))
    try {
      await deps.settings.write(changes, deps.clock.now())
    } catch (error) {
      await restore(deps, withChanges(DEFAULT_SETTINGS, stored))
      throw error
    }
    return changed
  })
}

/** Sends the stored settings after a failed change: the engine or the database may have made it, and the answer was lost. */
const restore = async ({ settings, engine, log }: SettingsDeps, before: Settings): Promise<void> => {
  try {
    await engine.configure(forEngine(await readSettings(settings).catch(() => before)))
  } catch (cause) {
    log.warn('settings_not_restored', { error: messageOf(cause) })
  }
}

/** A client may send settings back as it has read them; the mask stands for the stored password. */
const restorePassword = (patch: PartialSettings, stored: PartialSettings): PartialSettings => {
  if (patch.readers?.password !== MASK) return patch
  const password = stored.readers?.password ?? null
  if (password === null) throw passwordIssue(`No password is stored that ${MASK} could stand for; send the real one`)
  return { ...patch, readers: { ...patch.readers, password } }
}

const requireReaderPassword = ({ readers }: Settings): void => {
  if (readers.authentication === 'password' && readers.password === null)
    throw passwordIssue('Set a password of 8 to 128 characters, or set readers.authentication to none')
}

const passwordIssue = (message: string): ApiError => validationError('settings record', [{ path: 'readers.password', message }])
