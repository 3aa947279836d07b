import type { LogLine } from '../engine/messages.ts'
import type { Engine } from '../engine/protocol.ts'
import { hasCode } from '../errors.ts'
import { redact } from '../redact.ts'
import type { PipelineRepository } from '../repositories/repositories.ts'
import { logQuerySchema, MAX_LOG_LINES } from '../schema/log.ts'
import { validate } from '../validate.ts'
import { findRecord } from './find.ts'

export interface PipelineLogDeps {
  readonly engine: Pick<Engine, 'log'>
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

/** An engine that does not know the pipeline has not run it. */
const emptyWhenUnknown = (error: unknown): readonly LogLine[] => {
  if (hasCode(error, 'NOT_FOUND')) return []
  throw error
}
