import type { ViewReader } from '../engine/mirror.ts'
import type { Engine } from '../engine/protocol.ts'
import { ApiError, hasCode } from '../errors.ts'
import type { PipelineRecord, PipelineRepository } from '../repositories/repositories.ts'
import { type PipelineView, pipelineFilterSchema } from '../schema/pipeline.ts'
import { validate } from '../validate.ts'
import { idleView } from './representation.ts'
import type { FoundPipeline } from './serialize.ts'

export interface FindDeps {
  readonly views: ViewReader
  readonly pipelines: Pick<PipelineRepository, 'find' | 'list'>
}

/** The pipelines that match the filters of the query, oldest first, all as of the same moment. */
export const listPipelines = async (deps: FindDeps, query: Readonly<Record<string, unknown>>): Promise<readonly FoundPipeline[]> => {
  const filter = validate(pipelineFilterSchema, query, 'query')
  const [records, views] = await Promise.all([deps.pipelines.list(), deps.views.all()])
  const found: FoundPipeline[] = []
  for (const record of records) {
    const { id, mode, on_demand } = record.config
    if (filter.mode !== undefined && mode !== filter.mode) continue
    if (filter.on_demand !== undefined && on_demand !== filter.on_demand) continue
    const { view, agedMs } = views.get(id) ?? { view: idleView(record), agedMs: 0 }
    if (filter.state === undefined || view.state === filter.state) found.push({ record, view, agedMs })
  }
  return found
}

/** One pipeline; NOT_FOUND. */
export const getPipeline = async (deps: FindDeps, id: string): Promise<FoundPipeline> => {
  const record = await findRecord(deps.pipelines, id)
  try {
    const { view, agedMs } = await deps.views.one(id)
    return { record, view, agedMs }
  } catch (error) {
    if (hasCode(error, 'NOT_FOUND')) return { record, view: idleView(record), agedMs: 0 }
    throw error
  }
}

/** The stored pipeline; NOT_FOUND. */
export const findRecord = async (pipelines: Pick<PipelineRepository, 'find'>, id: string): Promise<PipelineRecord> => {
  const record = await pipelines.find(id)
  if (record === undefined) throw pipelineNotFound(id)
  return record
}

/** The view of a stored pipeline; idle when the engine does not know it. */
export const findView = (engine: Pick<Engine, 'view'>, record: PipelineRecord): Promise<PipelineView> =>
  engine.view(record.config.id).catch(whenUnknown(idleView(record)))

/** Error handler: the view of a pipeline that the engine does not know. */
export const whenUnknown =
  (view: PipelineView) =>
  (error: unknown): PipelineView => {
    if (hasCode(error, 'NOT_FOUND')) return view
    throw error
  }

/** Error handler of operations on playing pipelines: CONFLICT for one that the engine does not know. */
export const unknownIsNotPlaying =
  (id: string) =>
  (error: unknown): never => {
    // With a reason it is something of the pipeline that is not there.
    if (!(error instanceof ApiError) || error.code !== 'NOT_FOUND' || error.details.reason !== undefined) throw error
    throw new ApiError('CONFLICT', `The pipeline ${id} is not playing. Start it first.`, { reason: 'not_playing' }, { cause: error })
  }

export const pipelineNotFound = (id: string) => new ApiError('NOT_FOUND', `No pipeline has the id ${id}. List the pipelines, or create it.`)
