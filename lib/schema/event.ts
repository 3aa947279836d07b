import * as v from 'valibot'
import { described } from './primitives.ts'

/** Data of `pipeline_error`. */
export const pipelineErrorSchema = v.object({
  pipeline_id: v.string(),
  message: described(v.string(), 'What happened; without credentials'),
  code: described(v.string(), 'As in an error body'),
  cause: described(v.string(), 'Why, for people; without credentials'),
  reason: described(v.string(), 'Why, for programs: details.reason of a play that failed, or the reason of a failed screenshot'),
})

/** Data of `pipeline_not_found`. */
export const pipelineNotFoundSchema = v.object({ pipeline_id: v.string() })
