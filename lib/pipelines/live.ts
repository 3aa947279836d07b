import type { Live } from '../engine/protocol.ts'
import type { PipelineRepository } from '../repositories/repositories.ts'
import { findRecord, unknownIsNotPlaying } from './find.ts'

interface LiveDeps {
  readonly live: Live
  readonly pipelines: Pick<PipelineRepository, 'find'>
}

/** Live video of a pipeline, as `open` asks for it. CONFLICT with `details.reason` when there is none. */
export const openLive = async <T>({ live, pipelines }: LiveDeps, id: string, open: (live: Live) => Promise<T>): Promise<T> => {
  await findRecord(pipelines, id)
  return open(live).catch(unknownIsNotPlaying(id))
}
