import type { HealthDeps } from '../lib/health.ts'
import type { PipelineDeps } from '../lib/pipelines.ts'
import { healthRoutes } from './health.ts'
import type { FetchHandler, Route } from './http/route.ts'
import { pipelineRoutes } from './pipelines.ts'
import { createRouter, type RouterDeps } from './router.ts'

export type { FetchHandler, RequestContext, Route } from './http/route.ts'

/** Everything the API needs of its host; each group takes the part it uses. */
export interface AppDeps extends PipelineDeps, HealthDeps, RouterDeps {}

/** Every operation of the API. */
export const apiRoutes = (deps: AppDeps): readonly Route[] => [...healthRoutes(deps), ...pipelineRoutes(deps)]

/** The whole API behind one fetch handler. */
export const createApp = (deps: AppDeps): FetchHandler => createRouter(apiRoutes(deps), deps)
