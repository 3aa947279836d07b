import { changeSettings, readSettings, type SettingsDeps } from '../lib/settings.ts'
import { readJson } from './http/body.ts'
import { json } from './http/respond.ts'
import type { FetchHandler, Route } from './http/route.ts'
import { createRouter, type RouterDeps } from './router.ts'

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
    handle: async () => json(await readSettings(deps.settings)),
  },
  {
    method: 'PUT',
    path: '/svc/settings',
    access: 'session',
    operation: 'changeSettings',
    summary: 'Change the settings given; the others stay',
    status: 200,
    errors: ['VALIDATION_ERROR', 'PAYLOAD_TOO_LARGE', 'SERVICE_UNAVAILABLE'],
    handle: async ({ request }) => json(await changeSettings(deps, await readJson(request))),
  },
]

/** The settings alone, for embedding. */
export const createSettingsHandlers = (deps: SettingsDeps & RouterDeps): FetchHandler => createRouter(settingsRoutes(deps), deps)
