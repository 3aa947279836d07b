import { describe, expect, it } from 'vitest'
import type { FleetHosts, FleetRequest } from '../../lib/fleet/fleet-hosts.ts'
import type { ReportedHost } from '../../lib/fleet/reported-host.ts'
import { FLEET_HOST } from '../../lib/openapi/examples.ts'
import { API_KEY, openApi, START, type TestApi } from '../helpers/api/api.ts'
import { fetchHost } from '../helpers/api/hosts.ts'

const KEY = { 'x-api-key': API_KEY }
const { linked: _, ...REPORT } = FLEET_HOST

interface Asked {
  readonly host: string
  readonly request: FleetRequest
}

const open = async ({ control = false, reports = [] as { state: ReportedHost; storedAt: number }[] } = {}) => {
  const asked: Asked[] = []
  const hosts: FleetHosts = {
    own: 'gate-a',
    control,
    list: async () => reports,
    call: async (host, request) => {
      asked.push({ host, request })
      return { status: 404, headers: {}, body: { code: 'NOT_FOUND' } }
    },
  }
  return { api: await openApi(undefined, fetchHost, { fleetHosts: () => hosts }), asked }
}

const call = (api: TestApi, body: unknown, headers: Record<string, string> = KEY) =>
  api.send('POST', '/svc/fleet/hosts/gate-b/request', body, headers)
const reasonOf = async (answer: Response) => [answer.status, ((await answer.json()) as { details: { reason?: string } }).details.reason]

describe('the hosts of a fleet', () => {
  it('are none on a host without a fleet', async () => {
    const api = await openApi()
    expect(await reasonOf(await api.send('GET', '/svc/fleet/hosts'))).toEqual([404, 'no_fleet'])
    expect(await reasonOf(await call(api, { path: '/svc/health' }))).toEqual([404, 'no_fleet'])
  })

  it('are linked by the clock of the servers, whatever their own clocks say', async () => {
    const reports = [0, 74_999, 75_000].map((age) => ({
      state: { ...REPORT, host: `h${age}`, at: '1970-01-01T00:00:00Z' },
      storedAt: START - age,
    }))
    const { api } = await open({ reports })
    const { hosts } = await api.read('/svc/fleet/hosts')
    expect(hosts.map(({ linked }: { linked: boolean }) => linked)).toEqual([true, true, false])
  })
})

describe('a request to another host', () => {
  it('is answered with the answer of that host, also an error', async () => {
    const { api, asked } = await open()
    const answer = await call(api, { path: '/svc/pipeline/x?verbose=1' })
    expect([answer.status, await answer.json()]).toEqual([200, { status: 404, headers: {}, body: { code: 'NOT_FOUND' } }])
    expect(asked).toEqual([{ host: 'gate-b', request: { method: 'GET', path: '/svc/pipeline/x?verbose=1', headers: {}, body: null } }])
  })

  it('needs a password or the API key here, so that an open host opens no other', async () => {
    const { api, asked } = await open({ control: true })
    expect(await reasonOf(await call(api, { path: '/svc/pipeline' }, {}))).toEqual([403, 'fleet_needs_password'])
    expect(asked).toEqual([])
  })

  it.each(['POST', 'PUT', 'PATCH', 'DELETE'])('changes nothing by %s unless this host may control others', async (method) => {
    const closed = await open()
    expect(await reasonOf(await call(closed.api, { method, path: '/svc/pipeline/x' }))).toEqual([403, 'fleet_read_only'])
    expect(closed.asked).toEqual([])
    const { api, asked } = await open({ control: true })
    expect((await call(api, { method, path: '/svc/pipeline/x?token=secret' })).status).toBe(200)
    expect(asked.length).toBe(1)
    const fields = { host: 'gate-b', method, path: '/svc/pipeline/x?token=***', status: 404 }
    expect(api.logged).toContainEqual({ level: 'info', event: 'fleet_host_changed', fields })
  })

  it.each(['/svc/fleet/hosts', '/svc/x/../fleet/hosts/gate-c/request', '/svc/./fleet/hosts'])('goes to no third host: %s', async (path) => {
    const { api, asked } = await open({ control: true })
    expect(await reasonOf(await call(api, { method: 'POST', path }))).toEqual([403, 'fleet_relay'])
    expect(asked).toEqual([])
  })

  it.each([
    ['no path', {}],
    ['a path of no API', { path: '/dashboard' }],
    ['another origin', { path: 'http://example.org/svc/health' }],
    ['no method of HTTP', { path: '/svc/health', method: 'get' }],
    ['a header that is no text', { path: '/svc/health', headers: { a: 1 } }],
    ['an unknown field', { path: '/svc/health', host: 'gate-c' }],
  ])('is refused with %s', async (_what, body) => {
    const { api, asked } = await open()
    expect((await call(api, body)).status).toBe(400)
    expect(asked).toEqual([])
  })
})
