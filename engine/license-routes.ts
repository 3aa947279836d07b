import * as v from 'valibot'
import { licenseSchema } from '../lib/schema/license.ts'
import { validate } from '../lib/validate.ts'
import type { EngineRoute } from './server.ts'
import type { Supervisor } from './supervisor.ts'

const licenseStateSchema = v.variant('status', [
  v.strictObject({ status: v.picklist(['unlimited', 'unreadable', 'expired']) }),
  v.strictObject({ status: v.literal('valid'), license: licenseSchema }),
])

/** PUT /license of the engine: what starts by readers are held to. */
export const licenseRoutes = (supervisor: Supervisor): readonly EngineRoute[] => [
  {
    method: 'PUT',
    path: /^\/license$/,
    answer: async ({ body }) => supervisor.holdToLicense(validate(licenseStateSchema, await body(), 'license')),
  },
]
