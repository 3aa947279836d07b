import * as v from 'valibot'
import type { LogLine } from '../engine/messages.ts'
import type { Engine } from '../engine/protocol.ts'
import { ApiError } from '../errors.ts'
import { redact } from '../redact.ts'
import type { PipelineRepository } from '../repositories.ts'
import { integerBetween } from '../schema/number.ts'
import { validate } from '../validate.ts'

export interface PipelineLogDeps {
  readonly engine: Pick<Engine, 'log'>
  readonly pipelines: Pick<PipelineRepository, 'find'>
}

const MAX_LINES = 1000

/** Query of the log. */
export const logQuerySchema = v.strictObject({
  limit: v.optional(
    v.pipe(
      v.string(),
      v.regex(/^\d{1,9}$/, 'Use a whole number'),
      // In an address it is written as text.
      v.metadata({ type: 'integer', pattern: undefined, minimum: 1, maximum: MAX_LINES, description: 'Most lines in the answer' }),
      v.transform(Number),
      integerBetween(1, MAX_LINES),
    ),
  ),
})

/** The newest lines that a pipeline's runs wrote, the oldest first; NOT_FOUND when it is not stored. Credentials are masked. */
export const readPipelineLog = async (
  { engine, pipelines }: PipelineLogDeps,
  id: string,
  query: Readonly<Record<string, string>>,
): Promise<readonly LogLine[]> => {
  const { limit = MAX_LINES } = validate(logQuerySchema, query, 'query')
  if ((await pipelines.find(id)) === undefined) throw new ApiError('NOT_FOUND', `There is no pipeline with the id ${id}.`)
  const lines = await engine.log(id).catch(noneOfUnknown)
  return lines.slice(-limit).map(({ at, run, stream, line }) => ({ at, run, stream, line: redact(line) }))
}

/** An engine that does not hold the pipeline has not run it since it started. */
const noneOfUnknown = (error: unknown): readonly LogLine[] => {
  if (error instanceof ApiError && error.code === 'NOT_FOUND') return []
  throw error
}
