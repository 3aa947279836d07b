import * as v from 'valibot'
import { LOG_LINE, RATE_SAMPLE } from '../lib/openapi/examples.ts'
import { jsonAnswer } from '../lib/openapi/operation.ts'
import { type PipelineLogDeps, readPipelineHistory, readPipelineLog, searchPipelineLogs } from '../lib/pipelines/log.ts'
import { foundLineSchema, logLineSchema, logQuerySchema, logSearchSchema, rateSampleSchema } from '../lib/schema/log.ts'
import { pipelineIdOf } from './http/pipeline-id.ts'
import { readQuery } from './http/query.ts'
import { json } from './http/respond.ts'
import { type FetchHandler, route } from './http/route.ts'
import { createRouter, type RouterDeps } from './http/router.ts'

/** What happened to pipelines: their logs, and what was measured. */
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
  route({
    access: 'session',
    method: 'GET',
    path: '/svc/log',
    operation: 'searchLogs',
    summary: 'Search the logs of all pipelines: what happened to them, and the output of their processes; credentials are masked',
    description: 'The newest lines that match. Each pipeline has its last 500 lines; those of a previous engine are lost.',
    status: 200,
    errors: ['SERVICE_UNAVAILABLE'],
    query: logSearchSchema,
    answer: jsonAnswer('The lines, oldest first', v.array(foundLineSchema), { one: [{ pipeline_id: 'gate', ...LOG_LINE }] }),
    handle: async ({ url }) => json(await searchPipelineLogs(deps, readQuery(url, ['search', 'stream', 'limit']))),
  }),
  route({
    access: 'session',
    method: 'GET',
    path: '/svc/pipeline/:id/history',
    operation: 'getPipelineHistory',
    summary: 'Read frame rate, bitrate, readers and age of the newest frame over the last hour',
    description: 'A sample every 10 s while the pipeline runs. Those of a previous engine are lost.',
    status: 200,
    errors: ['NOT_FOUND', 'SERVICE_UNAVAILABLE'],
    answer: jsonAnswer('The samples, oldest first', v.array(rateSampleSchema), { one: [RATE_SAMPLE] }),
    handle: async (exchange) => json(await readPipelineHistory(deps, pipelineIdOf(exchange))),
  }),
]

/** The logs of pipelines alone, for embedding. */
export const createLogHandlers = (deps: PipelineLogDeps & RouterDeps): FetchHandler => createRouter(logRoutes(deps), deps).fetch
