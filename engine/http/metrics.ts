import { Registry } from 'prom-client'
import { type EngineRoute, RawAnswer } from './server.ts'

/** GET /metrics of the engine. */
export const metricsRoutes = (text: () => Promise<string>): readonly EngineRoute[] => [
  {
    method: 'GET',
    path: /^\/metrics$/,
    answer: async () => new RawAnswer(200, { 'content-type': Registry.PROMETHEUS_CONTENT_TYPE }, Buffer.from(await text())),
  },
]
