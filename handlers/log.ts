import * as v from 'valibot'
import { LOG_LINE } from '../lib/openapi/examples.ts'
import { jsonAnswer } from '../lib/openapi/operation.ts'
import { type PipelineLogDeps, readPipelineLog } from '../lib/pipelines/log.ts'
import { logLineSchema, logQuerySchema } from '../lib/schema/log.ts'
import { pipelineIdOf } from './http/pipeline-id.ts'
import { readQuery } from './http/query.ts'
import { json } from './http/respond.ts'
import { type FetchHandler, route } from './http/route.ts'
import { createRouter, type RouterDeps } from './http/router.ts'

/** The output of a pipeline's child processes. */
export const logRoutes = (deps: PipelineLogDeps) => [
  route({
    access: 'session',
    method: 'GET',
    path: '/svc/pipeline/:id/log',
    operation: 'getPipelineLog',
    summary: "Read the last output lines of the pipeline's child processes, of this run and previous ones; credentials are masked",
    description: 'For an RTSP source without a child process, the lines are those of the engine. Lines of a previous engine are lost.',
    status: 200,
    errors: ['NOT_FOUND', 'SERVICE_UNAVAILABLE'],
    query: logQuerySchema,
    answer: jsonAnswer('The lines, oldest first', v.array(logLineSchema), { one: [LOG_LINE] }),
    handle: async (exchange) => json(await readPipelineLog(deps, pipelineIdOf(exchange), readQuery(exchange.url, ['limit']))),
  }),
]

/** The logs of pipelines alone, for embedding. */
export const createLogHandlers = (deps: PipelineLogDeps & RouterDeps): FetchHandler => createRouter(logRoutes(deps), deps).fetch
