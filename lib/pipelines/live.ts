import type { Live } from '../engine/protocol.ts'
import type { PipelineRepository } from '../repositories/repositories.ts'
import { findRecord, unknownIsNotPlaying } from './find.ts'

interface LiveDeps {
  readonly live: Live
  readonly pipelines: Pick<PipelineRepository, 'find'>
}

/** Live video of a pipeline in one of the formats until the signal aborts. CONFLICT with `details.reason` when there is none. */
export const openLive = async (
  { live, pipelines }: LiveDeps,
  format: keyof Live,
  id: string,
  signal: AbortSignal,
): Promise<ReadableStream<Uint8Array>> => {
  await findRecord(pipelines, id)
  return live[format](id, signal).catch(unknownIsNotPlaying(id))
}
