import { asc, count, eq, sql } from 'drizzle-orm'
import { ApiError } from '../lib/errors.ts'
import type { PipelineChange, PipelineRecord, PipelineRepository } from '../lib/repositories/repositories.ts'
import type { PipelineConfig } from '../lib/schema/pipeline.ts'
import { isDuplicate, query, withoutValues } from './connect/database-error.ts'
import type { Database } from './open.ts'
import { pipelines } from './tables.ts'

type Row = typeof pipelines.$inferSelect

/** The stored pipelines. */
export const createPipelineRepository = ({ orm }: Database): PipelineRepository => {
  // Prepared once: most reads of the API are one of these two.
  const selectOne = orm
    .select()
    .from(pipelines)
    .where(eq(pipelines.id, sql.placeholder('id')))
    .prepare()
  const selectAll = orm.select().from(pipelines).orderBy(asc(pipelines.created_at), asc(pipelines.id)).prepare()
  const update = (id: string, columns: Partial<Row>) =>
    query(async () => (await orm.update(pipelines).set(columns).where(eq(pipelines.id, id))).rowsAffected > 0)
  return {
    list: () => query(async () => (await selectAll.all()).map(toRecord)),
    count: () => query(async () => (await orm.select({ total: count() }).from(pipelines))[0]?.total ?? 0),
    find: (id) =>
      query(async () => {
        const row = await selectOne.get({ id })
        return row === undefined ? undefined : toRecord(row)
      }),
    insert: (record) =>
      query(async () => {
        await orm.insert(pipelines).values(toRow(record)).catch(refuseDuplicate(record.config.id))
      }),
    replace: (id, change) => update(id, toChangedColumns(change)),
    setGeolocation: (id, geolocation, updated_at) => update(id, { geolocation, updated_at }),
    setDesired: (id, desired, stopped = false) => update(id, { desired, stopped }),
    setScreenshots: (id, screenshots) => update(id, { screenshots }),
    setRecording: (id, recording) => update(id, { recording }),
    remove: (id) => query(async () => (await orm.delete(pipelines).where(eq(pipelines.id, id))).rowsAffected > 0),
  }
}

const refuseDuplicate = (id: string) => (error: unknown) => {
  if (isDuplicate(error))
    throw new ApiError(
      'CONFLICT',
      `A pipeline with the id ${id} already exists. Use another id.`,
      { reason: 'exists' },
      { cause: withoutValues(error) },
    )
  throw error
}

const toChangedColumns = ({ config, geolocation, updated_at }: PipelineChange) => ({
  mode: config.mode,
  on_demand: config.on_demand,
  source: config.mode === 'simple' ? config.source : null,
  encoding: config.mode === 'simple' ? config.encoding : null,
  output_uri: config.output?.uri ?? null,
  raw_pipeline: config.mode === 'advanced' ? config.raw_pipeline : null,
  klv_config: config.klv_config,
  audio: config.audio,
  audio_bitrate: config.audio_bitrate,
  push: config.push,
  geolocation,
  updated_at,
})

const toRow = (record: PipelineRecord): Row => ({
  id: record.config.id,
  ...toChangedColumns(record),
  desired: record.desired,
  stopped: record.stopped,
  screenshots: record.screenshots ?? null,
  recording: record.recording,
  ephemeral: record.config.ephemeral,
  trigger_path: record.trigger_path,
  created_at: record.created_at,
})

const toRecord = (row: Row): PipelineRecord => ({
  config: toConfig(row),
  geolocation: row.geolocation,
  desired: row.desired,
  stopped: row.stopped,
  ...(row.screenshots !== null && { screenshots: row.screenshots }),
  recording: row.recording,
  trigger_path: row.trigger_path,
  created_at: row.created_at,
  updated_at: row.updated_at,
})

const toConfig = (row: Row): PipelineConfig => {
  const common = {
    id: row.id,
    on_demand: row.on_demand,
    output: row.output_uri === null ? null : { uri: row.output_uri },
    klv_config: row.klv_config,
    audio: row.audio,
    audio_bitrate: row.audio_bitrate,
    push: row.push,
    ephemeral: row.ephemeral,
  }
  if (row.mode === 'advanced') return { ...common, mode: 'advanced', raw_pipeline: row.raw_pipeline ?? '' }
  if (row.source === null) throw new Error(`Pipeline ${row.id} is stored without its source`)
  return { ...common, mode: 'simple', source: row.source, encoding: row.encoding }
}
