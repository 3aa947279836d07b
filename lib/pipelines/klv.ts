import type { Klv } from '../engine/protocol.ts'
import type { PipelineRepository } from '../repositories/repositories.ts'
import { type KlvFeatureRecord, type KlvFootprintRecord, type KlvPacketRecord, klvQuerySchema } from '../schema/klv.ts'
import { validate } from '../validate.ts'
import { findRecord, unknownIsNotPlaying, whenUnknown } from './find.ts'
import { idleView, type PipelineRepresentation, represent } from './representation.ts'

export interface KlvDeps {
  readonly klv: Klv
  readonly pipelines: Pick<PipelineRepository, 'find'>
}

/** Starts decoding the KLV of a playing pipeline; CONFLICT with `details.reason` not_playing or no_klv. */
export const startKlv = async (deps: KlvDeps, id: string): Promise<PipelineRepresentation> => {
  const record = await findRecord(deps.pipelines, id)
  return represent(record, await deps.klv.start(id).catch(unknownIsNotPlaying(id)))
}

/** Stops decoding and keeps the last packet; no effect when nothing is decoded. */
export const stopKlv = async (deps: KlvDeps, id: string): Promise<PipelineRepresentation> => {
  const record = await findRecord(deps.pipelines, id)
  return represent(record, await deps.klv.stop(id).catch(whenUnknown(idleView(record))))
}

type KlvAnswer =
  | { readonly format: 'json'; readonly packet: KlvPacketRecord }
  | { readonly format: 'geojson'; readonly feature: KlvFeatureRecord }
  | { readonly format: 'footprint'; readonly feature: KlvFootprintRecord }
  | { readonly format: 'cot'; readonly event: string }

/**
 * The last decoded packet in the format of the query; NOT_FOUND before the first, and when it lacks the values for the format. `host`: the
 * host of this service, as the client reaches it.
 */
export const readKlv = async (deps: KlvDeps, id: string, query: Readonly<Record<string, unknown>>, host: string): Promise<KlvAnswer> => {
  const { format } = validate(klvQuerySchema, query, 'query')
  await findRecord(deps.pipelines, id)
  switch (format) {
    case 'json':
      return { format, packet: await deps.klv.latest(id) }
    case 'geojson':
      return { format, feature: await deps.klv.latestFeature(id) }
    case 'footprint':
      return { format, feature: await deps.klv.latestFootprint(id) }
    case 'cot':
      return { format, event: await deps.klv.latestCot(id, { host }) }
  }
}
