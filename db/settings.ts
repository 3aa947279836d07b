import type { SettingsRepository } from '../lib/repositories/repositories.ts'
import { query } from './connect/database-error.ts'
import type { Database } from './open.ts'
import { settings } from './tables.ts'

/** The settings that differ from the defaults. */
export const createSettingsRepository = ({ orm }: Database): SettingsRepository => ({
  read: () => query(async () => (await orm.select({ value: settings.value }).from(settings))[0]?.value ?? {}),
  write: (value, updated_at) =>
    query(async () => {
      await orm
        .insert(settings)
        .values({ id: 1, value, updated_at })
        .onConflictDoUpdate({ target: settings.id, set: { value, updated_at } })
    }),
})
