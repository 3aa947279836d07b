import { readdirSync, readFileSync, statSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { fetchAsHost } from '../../helpers/api/fetch-as-host.ts'
import { type Service, startService } from '../../helpers/process/service.ts'

const PASSWORD = 'correct horse battery staple'
const GUESS = 'a guess that is wrong'

const setPassword = async (service: Service) =>
  expect((await service.request('PUT', '/svc/auth/password', { password: PASSWORD })).status).toBe(200)
const login = (service: Service, password: string, clientAddress = '192.0.2.1') =>
  service.request('POST', '/svc/auth/login', { password }, { 'x-forwarded-for': clientAddress })

describe('the data directory', () => {
  /** Sockets cannot be chmodded before they exist: their rights come from the umask. */
  const modeOf = (entry: { isFile: () => boolean }): string => (entry.isFile() ? '600' : '700')

  it('stores no password, token or given key in clear text, and only its owner may read it', async () => {
    const apiKey = 'a-key-that-was-given-by-environment'
    const service = await startService({ env: { SVC_API_KEY: apiKey, SVC_LOG_LEVEL: 'debug' } })
    await setPassword(service)
    const tokens: string[] = []
    for (let count = 0; count < 2; count += 1) tokens.push((await login(service, PASSWORD)).body.token)
    await login(service, GUESS)
    const [mine, other] = tokens.map((token) => ({ authorization: `Bearer ${token}` }))
    expect((await service.request('POST', '/svc/auth/logout', undefined, other)).status).toBe(204)
    const create = { id: 'cam', mode: 'simple', on_demand: true, source: { uri: 'test://ball' } }
    expect((await service.request('POST', '/svc/pipeline', create, mine)).status).toBe(201)

    const secrets = [PASSWORD, GUESS, ...tokens, apiKey]
    const search = (when: string): void => {
      const entries = readdirSync(service.dataDir, { recursive: true, withFileTypes: true })
      expect(entries.map(({ name }) => name)).toContain('service.db')
      for (const entry of entries) {
        const path = join(entry.parentPath, entry.name)
        expect([when, path, (statSync(path).mode & 0o777).toString(8)]).toEqual([when, path, modeOf(entry)])
        const content = entry.isFile() ? readFileSync(path) : Buffer.of()
        expect([when, path, secrets.filter((secret) => content.includes(secret))]).toEqual([when, path, []])
      }
    }
    search('while it runs')
    for (const secret of secrets) expect(service.log.join('\n')).not.toContain(secret)
    expect(readFileSync(`/proc/${service.enginePid()}/environ`, 'latin1')).not.toContain(apiKey)
    await service.stop()
    search('after it has stopped')
  })
})

describe('login attempts', () => {
  it('do not delay other requests, even hundreds of wrong ones at once', async () => {
    const service = await startService({ env: { SVC_TRUST_PROXY: '1' } })
    await setPassword(service)
    const authorization = `Bearer ${(await login(service, PASSWORD)).body.token}`
    // Each from another address, so that the login limit per client does not apply.
    const attempts = Array.from({ length: 300 }, (_, at) => login(service, GUESS, `198.51.${at % 100}.${Math.floor(at / 100)}`))
    for (const path of ['healthz', 'settings', 'pipeline']) {
      expect((await service.request('GET', `/svc/${path}`, undefined, { authorization })).status).toBe(200)
    }
    const answers = await Promise.all(attempts)
    const refused = answers.filter(({ status }) => status !== 400)
    expect(refused.length).toBeLessThan(300)
    // More than the number of hashes that are computed at once.
    for (const { status, headers, body } of refused) {
      expect([status, headers.get('retry-after'), body.details.reason]).toEqual([503, '1', 'busy'])
    }
    expect((await login(service, PASSWORD, '203.0.113.9')).status).toBe(200)
  })

  it('are refused after ten from one address; X-Forwarded-For counts only with SVC_TRUST_PROXY', async () => {
    const service = await startService()
    await setPassword(service)
    const answers = await Promise.all(Array.from({ length: 30 }, (_, at) => login(service, GUESS, `198.51.100.${at}`)))
    const limited = answers.filter(({ status }) => status === 429)
    expect(limited).toHaveLength(20)
    for (const { headers } of limited) expect(Number(headers.get('retry-after'))).toBeGreaterThan(50)
  })
})

describe('an API that listens beyond loopback', () => {
  const warningsOf = async (url: string) => ((await (await fetch(`${url}/svc/health`)).json()) as { warnings?: unknown }).warnings

  it('warns at start and in its health until a password is set, and at no start after that', async () => {
    const service = await startService({ env: { SVC_HOST: '0.0.0.0', SVC_ALLOW_FILE_SOURCES: '/no/such/folder' } })
    const line = { level: 'warn', url: service.url, advice: expect.stringContaining('Set one') }
    expect(await service.waitForLog('open_api_exposed')).toMatchObject(line)
    const url = service.url.replace('0.0.0.0', '127.0.0.1')
    expect(await warningsOf(url)).toEqual(['open_api', 'file_sources_folder'])
    await fetch(`${url}/svc/auth/password`, { method: 'PUT', body: JSON.stringify({ password: PASSWORD }) })
    expect(await warningsOf(url)).toEqual(['file_sources_folder'])
    await service.stop()
    const again = await startService({ dataDir: service.dataDir, env: { SVC_HOST: '0.0.0.0' } })
    expect(again.log.join('\n')).not.toContain('open_api_exposed')
  })

  it.each(['::1', 'localhost'])('is not one at %s, which is known by the name of the host and those of SVC_ALLOWED_HOSTS', async (host) => {
    const service = await startService({ env: { SVC_HOST: host, SVC_ALLOWED_HOSTS: 'video.example.org' } })
    expect(service.log.join('\n')).not.toContain('open_api_exposed')
    expect(await warningsOf(service.url)).toBeUndefined()
    const statusAs = async (name: string) =>
      (await fetchAsHost(new Request(`${service.url}/svc/pipeline`, { headers: { host: `${name}:8080` } }))).status
    expect([await statusAs(hostname()), await statusAs('video.example.org'), await statusAs('evil.test')]).toEqual([200, 200, 403])
  })
})
