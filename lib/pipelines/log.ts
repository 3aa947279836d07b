import type { LogLine } from '../engine/messages.ts'
import type { Engine } from '../engine/protocol.ts'
import { hasCode } from '../errors.ts'
import { redact } from '../redact.ts'
import type { PipelineRepository } from '../repositories/repositories.ts'
import { type FoundLine, logQuerySchema, logSearchSchema, MAX_LOG_LINES, type RateSample } from '../schema/log.ts'
import { validate } from '../validate.ts'
import { findRecord } from './find.ts'

export interface PipelineLogDeps {
  readonly engine: Pick<Engine, 'log' | 'logs' | 'history'>
  readonly pipelines: Pick<PipelineRepository, 'find'>
}

/** The newest lines of a pipeline's runs, oldest first, with credentials masked; NOT_FOUND when the pipeline is not stored. */
export const readPipelineLog = async (
  { engine, pipelines }: PipelineLogDeps,
  id: string,
  query: Readonly<Record<string, string>>,
): Promise<readonly LogLine[]> => {
  const { limit = MAX_LOG_LINES } = validate(logQuerySchema, query, 'query')
  await findRecord(pipelines, id)
  const lines = await engine.log(id).catch(emptyWhenUnknown)
  return lines.slice(-limit).map(({ at, run, stream, line }) => ({ at, run, stream, line: redact(line) }))
}

/** The newest lines of all pipelines that contain a text, oldest first, with credentials masked. */
export const searchPipelineLogs = async (
  { engine }: Pick<PipelineLogDeps, 'engine'>,
  query: Readonly<Record<string, string>>,
): Promise<readonly FoundLine[]> => {
  const { search, stream, limit = MAX_LOG_LINES } = validate(logSearchSchema, query, 'query')
  const lines = await engine.logs({ limit, ...(search !== '' && { search }), ...(stream !== undefined && { stream }) })
  return lines.map(({ pipeline_id, at, run, stream: from, line }) => ({ pipeline_id, at, run, stream: from, line: redact(line) }))
}

/** What was measured of a pipeline in the last hour, oldest first; NOT_FOUND when the pipeline is not stored. */
export const readPipelineHistory = async ({ engine, pipelines }: PipelineLogDeps, id: string): Promise<readonly RateSample[]> => {
  await findRecord(pipelines, id)
  return engine.history(id).catch(emptyWhenUnknown)
}

/** An engine that does not know the pipeline has not run it. */
const emptyWhenUnknown = (error: unknown): readonly never[] => {
  if (hasCode(error, 'NOT_FOUND')) return []
  throw error
}
