import * as v from 'valibot'
import { cameraAddedSchema, cameraRemovedSchema } from '../schema/camera.ts'
import { pipelineErrorSchema, pipelineNotFoundSchema } from '../schema/event.ts'
import { pipelineReplacementSchema, pipelineSchema } from '../schema/pipeline.ts'
import { pipelineRepresentationSchema } from '../schema/representation.ts'
import { ADVANCED_PIPELINE, GEOLOCATION_PATCH, REPRESENTED_PIPELINE, SIMPLE_PIPELINE, TEST_PIPELINE } from './examples.ts'
import { type Body, jsonAnswer } from './operation.ts'

/** The body of create and validate. */
export const PIPELINE_BODY = {
  schema: pipelineSchema,
  examples: { test_picture: TEST_PIPELINE, camera: SIMPLE_PIPELINE, advanced: ADVANCED_PIPELINE },
} as const satisfies Body

/** The body of replace: the id is in the path, so the body may leave it out. */
export const REPLACEMENT_BODY = {
  schema: pipelineReplacementSchema,
  examples: { camera: SIMPLE_PIPELINE, advanced: ADVANCED_PIPELINE },
} as const satisfies Body

const PIPELINE_ETAG = 'Identifies configuration and geolocation for If-Match; does not change with the state of the pipeline'

/** The answer of operations on one pipeline. */
export const PIPELINE_ANSWER = jsonAnswer(
  'The pipeline',
  pipelineRepresentationSchema,
  { playing: REPRESENTED_PIPELINE },
  { etag: PIPELINE_ETAG },
)

export const PIPELINES_ANSWER = jsonAnswer('The pipelines, oldest first', v.array(pipelineRepresentationSchema), {
  one: [REPRESENTED_PIPELINE],
})

export const CREATED_ANSWER = jsonAnswer(
  'The pipeline; it is playing unless it is on-demand',
  pipelineRepresentationSchema,
  { playing: REPRESENTED_PIPELINE },
  { location: 'Path of the pipeline', etag: PIPELINE_ETAG },
)

export const GEOLOCATION_EXAMPLES = { known: GEOLOCATION_PATCH, unknown: { geolocation: null } }

/** The events of pipelines by name. */
export const PIPELINE_EVENTS = {
  pipeline_status: pipelineRepresentationSchema,
  pipeline_error: pipelineErrorSchema,
  pipeline_not_found: pipelineNotFoundSchema,
}

export const CAMERA_EVENTS = { camera_added: cameraAddedSchema, camera_removed: cameraRemovedSchema }
