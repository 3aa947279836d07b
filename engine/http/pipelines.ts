import * as v from 'valibot'
import type { EngineStatus } from '../../lib/ports.ts'
import { licenseSchema } from '../../lib/schema/license.ts'
import type { PipelineConfig } from '../../lib/schema/pipeline.ts'
import { settingsSchema } from '../../lib/schema/settings.ts'
import { validate } from '../../lib/validate.ts'
import type { Supervisor } from '../pipelines/supervisor.ts'
import type { EngineRoute } from './server.ts'

/** Matches `/pipelines/{id}` and what follows; captures the id. */
export const pipelinePath = (rest: string): RegExp => new RegExp(String.raw`^/pipelines/([\w-]+)${rest}$`)

/** One route per method of the Engine port. */
export const pipelineRoutes = (
  supervisor: Supervisor,
  status: () => Promise<Omit<EngineStatus, 'configured' | 'playing'>>,
): readonly EngineRoute[] => [
  {
    method: 'GET',
    path: /^\/status$/,
    answer: async () => ({ ...(await status()), configured: supervisor.configured, playing: supervisor.playing }),
  },
  {
    method: 'PUT',
    path: /^\/settings$/,
    answer: async ({ body }) => supervisor.configure(validate(settingsSchema, await body(), 'settings record')),
  },
  { method: 'POST', path: /^\/check$/, answer: async ({ body }) => supervisor.check((await body()) as PipelineConfig) },
  { method: 'GET', path: /^\/pipelines$/, answer: () => supervisor.list() },
  { method: 'GET', path: pipelinePath(''), answer: ({ id }) => supervisor.view(id) },
  {
    method: 'PUT',
    path: pipelinePath(''),
    answer: async ({ body, query }) => supervisor.put((await body()) as PipelineConfig, query.has('create')),
  },
  { method: 'DELETE', path: pipelinePath(''), answer: ({ id, query }) => supervisor.remove(id, query.has('force')) },
  { method: 'POST', path: pipelinePath('/play'), answer: ({ id, query }) => supervisor.play(id, query.has('wait')) },
  { method: 'POST', path: pipelinePath('/stop'), answer: ({ id }) => supervisor.stop(id) },
  { method: 'GET', path: pipelinePath('/log'), answer: ({ id }) => supervisor.log(id) },
]

const licenseStateSchema = v.variant('status', [
  v.strictObject({ status: v.picklist(['unlimited', 'unreadable', 'expired']) }),
  v.strictObject({ status: v.literal('valid'), license: licenseSchema }),
])

/** PUT /license of the engine: what starts by readers are held to. */
export const licenseRoutes = (supervisor: Supervisor): readonly EngineRoute[] => [
  {
    method: 'PUT',
    path: /^\/license$/,
    answer: async ({ body }) => supervisor.setLicense(validate(licenseStateSchema, await body(), 'license')),
  },
]
