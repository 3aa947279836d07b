import type { Live } from '../engine/protocol.ts'
import { hasCode } from '../errors.ts'
import type { PipelineRepository } from '../repositories.ts'
import { findRecord, notPlaying } from './find.ts'

interface LiveDeps {
  readonly live: Live
  readonly pipelines: Pick<PipelineRepository, 'find'>
}

/** The access units of a pipeline until the signal aborts. CONFLICT with `details.reason` when there is no video to be had. */
export const openVideo = async ({ live, pipelines }: LiveDeps, id: string, signal: AbortSignal): Promise<ReadableStream<Uint8Array>> => {
  await findRecord(pipelines, id)
  try {
    return await live.video(id, signal)
  } catch (error) {
    throw hasCode(error, 'NOT_FOUND') ? notPlaying(id, error) : error
  }
}
