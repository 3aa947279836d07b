import type { Geolocation, PipelineConfig } from '../schema/pipeline.ts'
import { pipelineSchema } from '../schema/pipeline.ts'
import { validate, validationError } from '../validate.ts'

export interface PipelineInput {
  readonly config: PipelineConfig
  readonly geolocation: Geolocation | null
}

/** The body of a create, or of the replacement of `id`, which then need not name it but must not name another. */
export const parsePipeline = (input: unknown, id?: string): PipelineInput => {
  const body = id === undefined ? input : withId(input, id)
  const parsed = validate(pipelineSchema, body, 'pipeline')
  const common = {
    id: parsed.id,
    on_demand: parsed.on_demand,
    output: parsed.output ?? null,
    klv_config: parsed.klv_config,
    ephemeral: false,
  }
  const config: PipelineConfig =
    parsed.mode === 'simple'
      ? { ...common, mode: 'simple', source: parsed.source, encoding: parsed.encoding }
      : { ...common, mode: 'advanced', raw_pipeline: parsed.raw_pipeline }
  return { config, geolocation: parsed.geolocation }
}

const withId = (input: unknown, id: string): unknown => {
  if (typeof input !== 'object' || input === null || Array.isArray(input)) return input
  if (!('id' in input) || input.id === undefined) return { ...input, id }
  if (input.id !== id)
    throw validationError('pipeline', [{ path: 'id', message: 'The id of a pipeline cannot be changed: use the one of the path' }])
  return input
}
