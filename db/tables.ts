import { integer, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import type { Encoding, Geolocation, KlvConfig, PushTarget, Source } from '../lib/schema/pipeline.ts'
import { AUDIO_MODES, PIPELINE_MODES, PIPELINE_STATES } from '../lib/schema/pipeline.ts'
import type { ScreenshotSchedule } from '../lib/schema/screenshot.ts'
import type { PartialSettings } from '../lib/schema/settings.ts'

/** The columns the repositories read and write; `migrations/` creates them. */

export const pipelines = sqliteTable('pipelines', {
  id: text().primaryKey(),
  mode: text({ enum: PIPELINE_MODES }).notNull(),
  on_demand: integer({ mode: 'boolean' }).notNull(),
  source: text({ mode: 'json' }).$type<Source>(),
  encoding: text({ mode: 'json' }).$type<Encoding>(),
  output_uri: text(),
  raw_pipeline: text(),
  klv_config: text({ mode: 'json' }).$type<KlvConfig>().notNull(),
  audio: text({ enum: AUDIO_MODES }).notNull(),
  audio_bitrate: integer(),
  push: text({ mode: 'json' }).$type<readonly PushTarget[]>().notNull(),
  geolocation: text({ mode: 'json' }).$type<Geolocation>(),
  desired: text({ enum: PIPELINE_STATES }).notNull(),
  stopped: integer({ mode: 'boolean' }).notNull(),
  screenshots: text({ mode: 'json' }).$type<ScreenshotSchedule>(),
  recording: integer({ mode: 'boolean' }).notNull(),
  ephemeral: integer({ mode: 'boolean' }).notNull(),
  trigger_path: text(),
  created_at: integer().notNull(),
  updated_at: integer().notNull(),
})

export const settings = sqliteTable('settings', {
  id: integer().primaryKey(),
  value: text({ mode: 'json' }).$type<PartialSettings>().notNull(),
  updated_at: integer().notNull(),
})

export const credential = sqliteTable('credential', {
  id: integer().primaryKey(),
  password_hash: text().notNull(),
  updated_at: integer().notNull(),
})

export const sessions = sqliteTable('sessions', {
  token_hash: text().primaryKey(),
  created_at: integer().notNull(),
  expires_at: integer().notNull(),
})
