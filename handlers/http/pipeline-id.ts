import { pipelineIdSchema } from '../../lib/schema/pipeline.ts'
import { validate } from '../../lib/validate.ts'
import type { Exchange } from './route.ts'

/** The `:id` of a path. Throws VALIDATION_ERROR. */
export const pipelineIdOf = ({ params }: Pick<Exchange, 'params'>): string => validate(pipelineIdSchema, params.id, 'pipeline id')
