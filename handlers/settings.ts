import { jsonAnswer } from '../lib/openapi/operation.ts'
import { DEFAULT_SETTINGS, type Settings, settingsPatchSchema, settingsSchema } from '../lib/schema/settings.ts'
import { changeSettings, etagOfSettings, maskSettings, readSettings, type SettingsDeps } from '../lib/settings/settings.ts'
import { readJson } from './http/body.ts'
import { ifMatchOf } from './http/conditional-request.ts'
import { json } from './http/respond.ts'
import { type FetchHandler, route } from './http/route.ts'
import { createRouter, type RouterDeps } from './http/router.ts'

const ETAG = { etag: 'Identifies the settings for If-Match' }

/** The settings of the service. */
export const settingsRoutes = (deps: SettingsDeps) => [
  route({
    method: 'GET',
    path: '/svc/settings',
    access: 'session',
    operation: 'getSettings',
    summary: 'Read the settings',
    description: 'Send the ETag as If-Match with a change, which is refused if the settings have changed since.',
    status: 200,
    errors: ['SERVICE_UNAVAILABLE'],
    answer: jsonAnswer('The settings', settingsSchema, { defaults: DEFAULT_SETTINGS }, ETAG),
    handle: async () => answer(deps, await readSettings(deps.settings)),
  }),
  route({
    method: 'PUT',
    path: '/svc/settings',
    access: 'session',
    operation: 'changeSettings',
    summary: 'Change some settings; the others keep their values',
    description: 'Within a group, too, only the given fields change; lists are replaced as a whole. Takes effect without a restart.',
    status: 200,
    errors: ['PRECONDITION_FAILED', 'PAYLOAD_TOO_LARGE', 'SERVICE_UNAVAILABLE'],
    body: { schema: settingsPatchSchema, examples: { longer: { start_timeout_seconds: 20, reconnect: { max_delay_seconds: 60 } } } },
    answer: jsonAnswer(
      'All settings after the change',
      settingsSchema,
      { changed: { ...DEFAULT_SETTINGS, start_timeout_seconds: 20 } },
      ETAG,
    ),
    handle: async ({ request }) => answer(deps, await changeSettings(deps, await readJson(request), ifMatchOf(request))),
  }),
]

/** Settings, masked, with their ETag. */
const answer = async (deps: SettingsDeps, settings: Settings): Promise<Response> =>
  json(maskSettings(settings), 200, { etag: await etagOfSettings(deps, settings) })

/** The settings alone, for embedding. */
export const createSettingsHandlers = (deps: SettingsDeps & RouterDeps): FetchHandler => createRouter(settingsRoutes(deps), deps).fetch
