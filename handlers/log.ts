import * as v from 'valibot'
import { LOG_LINE } from '../lib/openapi/examples.ts'
import { jsonAnswer } from '../lib/openapi/operation.ts'
import { type PipelineLogDeps, readPipelineLog } from '../lib/pipelines/log.ts'
import { logLineSchema, logQuerySchema } from '../lib/schema/log.ts'
import { pipelineIdOf } from './http/pipeline-id.ts'
import { readQuery } from './http/query.ts'
import { json } from './http/respond.ts'
import type { FetchHandler, Route } from './http/route.ts'
import { createRouter, type RouterDeps } from './http/router.ts'

/** What a pipeline's child processes wrote. */
export const logRoutes = (deps: PipelineLogDeps): readonly Route[] => [
  {
    access: 'session',
    method: 'GET',
    path: '/svc/pipeline/:id/log',
    operation: 'getPipelineLog',
    summary: 'The last lines of the child process, this run and the previous ones; credentials masked',
    status: 200,
    errors: ['VALIDATION_ERROR', 'NOT_FOUND', 'SERVICE_UNAVAILABLE'],
    query: logQuerySchema,
    answer: jsonAnswer('The lines, the oldest first', v.array(logLineSchema), { one: [LOG_LINE] }),
    handle: async (exchange) => json(await readPipelineLog(deps, pipelineIdOf(exchange), readQuery(exchange.url, ['limit']))),
  },
]

/** The logs of pipelines alone, for embedding. */
export const createLogHandlers = (deps: PipelineLogDeps & RouterDeps): FetchHandler => createRouter(logRoutes(deps), deps)
