import type { PipelineRequest } from '../../client/client.ts'
import { withoutDefaults } from '../../declared/configured.ts'
import type { Run } from '../command-line/session.ts'
import { readInput } from './input.ts'
import { forEach } from './run.ts'

/** Creates the pipelines of a file. */
export const create: Run = async (session) => {
  const { pipelines } = readInput(session)
  const bodies = new Map(pipelines.map(({ id, config }) => [id, withoutDefaults(config) as unknown as PipelineRequest]))
  return forEach(session, [...bodies.keys()], {
    doing: 'starting',
    act: async (client, id, signal) => {
      const body = bodies.get(id)
      return body && client.createPipeline({ body, signal })
    },
  })
}
