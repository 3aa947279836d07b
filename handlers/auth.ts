import { isAuthEnabled, login, logout, removePassword, type SessionDeps, setPassword } from '../lib/access/sessions.ts'
import { SESSION } from '../lib/openapi/examples.ts'
import { emptyAnswer, jsonAnswer } from '../lib/openapi/operation.ts'
import { authStatusSchema, loginSchema, passwordSchema, sessionSchema } from '../lib/schema/auth.ts'
import { readJson } from './http/body.ts'
import { presentedBy } from './http/guard.ts'
import { json, noContent } from './http/respond.ts'
import { type FetchHandler, route } from './http/route.ts'
import { createRouter, type RouterDeps } from './http/router.ts'

const LOGINS = { name: 'login', requests: 10, window_seconds: 60 } as const

const sessionRoutes = (deps: SessionDeps) => [
  route({
    method: 'GET',
    path: '/svc/auth/status',
    access: 'public',
    operation: 'getAuthStatus',
    summary: 'Whether a password is set',
    description: 'While no password is set, no operation but the triggers needs a credential.',
    status: 200,
    errors: ['SERVICE_UNAVAILABLE'],
    answer: jsonAnswer('Whether a password is set', authStatusSchema, { off: { auth_enabled: false } }),
    handle: async () => json({ auth_enabled: await isAuthEnabled(deps) }),
  }),
  route({
    method: 'POST',
    path: '/svc/auth/login',
    access: 'public',
    limit: LOGINS,
    operation: 'login',
    summary: 'Log in: begin a session of 24 hours',
    description: 'Send the token in the header Authorization (Bearer). A wrong password is VALIDATION_ERROR.',
    status: 200,
    errors: ['PAYLOAD_TOO_LARGE', 'SERVICE_UNAVAILABLE'],
    body: { schema: loginSchema, examples: { password: { password: 'correct horse battery staple' } } },
    answer: jsonAnswer('The session', sessionSchema, { session: SESSION }),
    handle: async ({ request }) => json(await login(deps, await readJson(request))),
  }),
  route({
    method: 'POST',
    path: '/svc/auth/logout',
    access: 'session',
    operation: 'logout',
    summary: 'Log out: end the session of the token',
    description: 'Other sessions continue. Without a token, nothing happens.',
    status: 204,
    errors: ['SERVICE_UNAVAILABLE'],
    answer: emptyAnswer('The session has ended'),
    handle: async ({ request }) => {
      await logout(deps, presentedBy(request))
      return noContent()
    },
  }),
]

const passwordRoutes = (deps: SessionDeps) => [
  route({
    method: 'PUT',
    path: '/svc/auth/password',
    access: 'session',
    operation: 'setPassword',
    summary: 'Set or change the password and end every session',
    description: 'While a password is set, every operation that is not public needs the token of a login or the API key.',
    status: 200,
    errors: ['PAYLOAD_TOO_LARGE', 'SERVICE_UNAVAILABLE'],
    body: { schema: passwordSchema, examples: { password: { password: 'correct horse battery staple' } } },
    answer: jsonAnswer('The password is set', authStatusSchema, { on: { auth_enabled: true } }),
    handle: async ({ request }) => {
      await setPassword(deps, presentedBy(request), await readJson(request))
      return json({ auth_enabled: true })
    },
  }),
  route({
    method: 'DELETE',
    path: '/svc/auth/password',
    access: 'session',
    operation: 'removePassword',
    summary: 'Remove the password and every session',
    description: 'From then on no credential is needed, except for the triggers. CONFLICT where the service requires a password.',
    status: 204,
    errors: ['CONFLICT', 'SERVICE_UNAVAILABLE'],
    answer: emptyAnswer('The password is removed; authentication is off'),
    handle: async ({ request }) => {
      await removePassword(deps, presentedBy(request))
      return noContent()
    },
  }),
]

/** Login, logout and the password. */
export const authRoutes = (deps: SessionDeps) => [...sessionRoutes(deps), ...passwordRoutes(deps)]

/** Authentication alone, for embedding. */
export const createAuthHandlers = (deps: SessionDeps & RouterDeps): FetchHandler => createRouter(authRoutes(deps), deps).fetch
