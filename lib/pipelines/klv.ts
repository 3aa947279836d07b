import type { Klv } from '../engine/protocol.ts'
import { ApiError } from '../errors.ts'
import type { PipelineRecord, PipelineRepository } from '../repositories.ts'
import { type KlvFeatureRecord, type KlvPacketRecord, klvQuerySchema } from '../schema/klv.ts'
import { DEFAULT_SETTINGS } from '../schema/settings.ts'
import { validate } from '../validate.ts'
import { absentView, type PipelineRepresentation, represent } from './representation.ts'

export interface KlvDeps {
  readonly klv: Klv
  readonly pipelines: Pick<PipelineRepository, 'find'>
}

/** Begins to decode the KLV of a playing pipeline; CONFLICT with `details.reason` not_playing or no_klv. */
export const startKlv = async (deps: KlvDeps, id: string): Promise<PipelineRepresentation> => {
  const record = await findRecord(deps, id)
  try {
    return represent(record, await deps.klv.start(id))
  } catch (error) {
    if (!isNotFound(error)) throw error
    throw new ApiError('CONFLICT', `The pipeline "${id}" is not playing. Start it first.`, { reason: 'not_playing' })
  }
}

/** Ends decoding; the last packet stays. Nothing to do when it does not run. */
export const stopKlv = async (deps: KlvDeps, id: string): Promise<PipelineRepresentation> => {
  const record = await findRecord(deps, id)
  try {
    return represent(record, await deps.klv.stop(id))
  } catch (error) {
    if (!isNotFound(error)) throw error
    return represent(record, absentView(record, DEFAULT_SETTINGS.screenshots))
  }
}

/** The last decoded packet as the API's JSON or as GeoJSON; NOT_FOUND before the first. */
export const readKlv = async (
  deps: KlvDeps,
  id: string,
  query: Readonly<Record<string, unknown>>,
): Promise<{ readonly packet: KlvPacketRecord } | { readonly feature: KlvFeatureRecord }> => {
  const { format } = validate(klvQuerySchema, query, 'query')
  await findRecord(deps, id)
  return format === 'geojson' ? { feature: await deps.klv.latestFeature(id) } : { packet: await deps.klv.latest(id) }
}

/** The stored pipeline; NOT_FOUND. */
export const findRecord = async ({ pipelines }: Pick<KlvDeps, 'pipelines'>, id: string): Promise<PipelineRecord> => {
  const record = await pipelines.find(id)
  if (record === undefined) throw new ApiError('NOT_FOUND', `There is no pipeline with the id ${id}.`)
  return record
}

const isNotFound = (error: unknown): boolean => error instanceof ApiError && error.code === 'NOT_FOUND'
