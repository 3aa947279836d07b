import { etagOfPipeline, type PipelineRepresentation } from '../../lib/pipelines/representation.ts'
import { json } from './respond.ts'

/** A pipeline with the ETag of its configuration and geolocation. */
export const pipelineAnswer = async (
  pipeline: PipelineRepresentation,
  status = 200,
  headers: Readonly<Record<string, string>> = {},
): Promise<Response> => json(pipeline, status, { ...headers, etag: await etagOfPipeline(pipeline) })
