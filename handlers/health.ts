import { type HealthDeps, readHealth, readVersion } from '../lib/health/health.ts'
import { HEALTH, VERSION } from '../lib/openapi/examples.ts'
import { jsonAnswer } from '../lib/openapi/operation.ts'
import { healthSchema, probeSchema, versionSchema } from '../lib/schema/health.ts'
import { json } from './http/respond.ts'
import { type FetchHandler, route } from './http/route.ts'
import { createRouter, type RouterDeps } from './http/router.ts'

const open = { access: 'public', method: 'GET', status: 200, errors: [] } as const

/** Health, liveness probe and version; all public. */
export const healthRoutes = (deps: HealthDeps) => [
  route({
    ...open,
    path: '/svc/health',
    operation: 'getHealth',
    summary: 'Health of the service, its engine and its database; 503 when degraded',
    answer: jsonAnswer('Engine and database work', healthSchema, { ok: HEALTH, open: { ...HEALTH, warnings: ['open_api'] } }),
    description: 'Use /svc/healthz to decide whether to restart the service: a restart does not repair a degraded engine or database.',
    otherAnswers: {
      503: jsonAnswer('Engine or database is unavailable, or nothing can be changed', healthSchema, {
        degraded: { ...HEALTH, status: 'degraded', engine: 'unavailable' },
        full_disk: { ...HEALTH, status: 'degraded', database: 'read_only' },
      }),
    },
    handle: async () => {
      const health = await readHealth(deps)
      return json(health, health.status === 'ok' ? 200 : 503)
    },
  }),
  route({
    ...open,
    path: '/svc/healthz',
    operation: 'probe',
    summary: 'Liveness: 200 while this process accepts requests, 503 while it stops',
    description: 'Checks only the process itself, so it answers at once.',
    answer: jsonAnswer('The process accepts requests', probeSchema, { ok: { status: 'ok' } }),
    otherAnswers: { 503: jsonAnswer('The process stops', probeSchema, { stopping: { status: 'stopping' } }) },
    handle: () => (deps.isStopping?.() ? json({ status: 'stopping' }, 503) : json({ status: 'ok' })),
  }),
  route({
    ...open,
    path: '/svc/version',
    operation: 'getVersion',
    summary: 'Versions of the service, its API and its engine',
    description: 'The version of the engine is null while the engine is unavailable.',
    answer: jsonAnswer('The versions', versionSchema, { version: VERSION }),
    handle: async () => json(await readVersion(deps)),
  }),
]

/** Health and version alone, for embedding. */
export const createHealthHandlers = (deps: HealthDeps & RouterDeps): FetchHandler => createRouter(healthRoutes(deps), deps).fetch
