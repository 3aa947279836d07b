import { jsonAnswer } from '../lib/openapi/operation.ts'
import { DEFAULT_SETTINGS, settingsPatchSchema, settingsSchema } from '../lib/schema/settings.ts'
import { changeSettings, maskSettings, readSettings, type SettingsDeps } from '../lib/settings.ts'
import { readJson } from './http/body.ts'
import { json } from './http/respond.ts'
import type { FetchHandler, Route } from './http/route.ts'
import { createRouter, type RouterDeps } from './http/router.ts'

/** The settings of the service. */
export const settingsRoutes = (deps: SettingsDeps): readonly Route[] => [
  {
    method: 'GET',
    path: '/svc/settings',
    access: 'session',
    operation: 'getSettings',
    summary: 'Read the settings',
    status: 200,
    errors: ['SERVICE_UNAVAILABLE'],
    answer: jsonAnswer('The settings', settingsSchema, { defaults: DEFAULT_SETTINGS }),
    handle: async () => json(maskSettings(await readSettings(deps.settings))),
  },
  {
    method: 'PUT',
    path: '/svc/settings',
    access: 'session',
    operation: 'changeSettings',
    summary: 'Change some settings; the others keep their values',
    status: 200,
    errors: ['VALIDATION_ERROR', 'PAYLOAD_TOO_LARGE', 'SERVICE_UNAVAILABLE'],
    body: { schema: settingsPatchSchema, examples: { longer: { start_timeout_seconds: 20, reconnect: { max_delay_seconds: 60 } } } },
    answer: jsonAnswer('All settings after the change', settingsSchema, { changed: { ...DEFAULT_SETTINGS, start_timeout_seconds: 20 } }),
    handle: async ({ request }) => json(await changeSettings(deps, await readJson(request))),
  },
]

/** The settings alone, for embedding. */
export const createSettingsHandlers = (deps: SettingsDeps & RouterDeps): FetchHandler => createRouter(settingsRoutes(deps), deps)
