import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { type Service, startService } from '../helpers/process/service.ts'

const PASSWORD = 'correct horse battery staple'
const GUESS = 'a guess that is wrong'

const setPassword = async (service: Service) =>
  expect((await service.request('PUT', '/svc/auth/password', { password: PASSWORD })).status).toBe(200)

const login = (service: Service, password: string, clientAddress = '192.0.2.1') =>
  service.request('POST', '/svc/auth/login', { password }, { 'x-forwarded-for': clientAddress })

type Kind = 'file' | 'directory' | 'other'

const entriesOf = (directory: string): readonly (readonly [path: string, kind: Kind])[] => [
  [directory, 'directory'],
  ...readdirSync(directory, { recursive: true, withFileTypes: true }).map(
    (entry) => [join(entry.parentPath, entry.name), entry.isFile() ? 'file' : entry.isDirectory() ? 'directory' : 'other'] as const,
  ),
]

/** Sockets cannot be chmodded before they exist: their rights come from the umask. */
const MODES: Readonly<Record<Kind, string>> = { file: '600', directory: '700', other: '700' }

describe('the data directory', () => {
  it('stores no password, token or given key in clear text, and only its owner may read it', async () => {
    const apiKey = 'a-key-that-was-given-by-environment'
    const service = await startService({ env: { SVC_API_KEY: apiKey, SVC_LOG_LEVEL: 'debug' } })
    await setPassword(service)
    const { body } = await login(service, PASSWORD)
    expect(body.token).toMatch(/^[A-Za-z0-9_-]{43}$/)
    await login(service, GUESS)
    const authorization = `Bearer ${body.token}`
    const other = (await login(service, PASSWORD)).body.token as string
    expect((await service.request('POST', '/svc/auth/logout', undefined, { authorization: `Bearer ${other}` })).status).toBe(204)
    const create = { id: 'cam', mode: 'simple', on_demand: true, source: { uri: 'test://ball' } }
    expect((await service.request('POST', '/svc/pipeline', create, { authorization })).status).toBe(201)

    const secrets = [PASSWORD, GUESS, body.token as string, other, apiKey]
    const search = (when: string): void => {
      const entries = entriesOf(service.dataDir)
      expect(entries.some(([path]) => path.endsWith('service.db'))).toBe(true)
      for (const [path, kind] of entries) {
        expect([when, path, (statSync(path).mode & 0o777).toString(8)]).toEqual([when, path, MODES[kind]])
        if (kind !== 'file') continue
        const content = readFileSync(path)
        for (const secret of secrets) expect([when, path, content.includes(secret)]).toEqual([when, path, false])
      }
    }
    search('while it runs')
    // Other users can see the command line of a process.
    for (const secret of secrets) expect(service.log.join('\n')).not.toContain(secret)
    const engine = readFileSync(`/proc/${service.enginePid()}/environ`, 'latin1')
    expect(engine).not.toContain(apiKey)
    await service.stop()
    search('after it has stopped')
  })
})

describe('login attempts', () => {
  it('do not delay other requests, even a thousand wrong ones at once', async () => {
    const service = await startService({ env: { SVC_TRUST_PROXY: '1' } })
    await setPassword(service)
    const { body } = await login(service, PASSWORD)
    const authorization = `Bearer ${body.token}`
    // Each from another address, so that the login limit per client does not apply.
    const attempts = Array.from({ length: 300 }, (_, at) => login(service, GUESS, `198.51.${at % 100}.${Math.floor(at / 100)}`))
    const others = [
      await service.request('GET', '/svc/healthz'),
      await service.request('GET', '/svc/settings', undefined, { authorization }),
      await service.request('GET', '/svc/pipeline', undefined, { authorization }),
    ]
    const answers = await Promise.all(attempts)
    expect(others.map(({ status }) => status)).toEqual([200, 200, 200])
    const count = (status: number) => answers.filter((answer) => answer.status === status).length
    // 400: wrong; 429 with Retry-After: more than the number of hashes that are computed at once.
    expect(count(400) + count(503)).toBe(300)
    expect(count(400)).toBeGreaterThan(0)
    for (const { status, headers, body: error } of answers) {
      if (status === 503)
        expect([headers.get('retry-after'), error.code, error.details.reason]).toEqual(['1', 'SERVICE_UNAVAILABLE', 'busy'])
    }
    expect((await login(service, PASSWORD, '203.0.113.9')).status).toBe(200)
    await service.stop()
  })

  it('are refused after ten from one address, with the time to wait', async () => {
    const service = await startService()
    await setPassword(service)
    const answers = await Promise.all(Array.from({ length: 100 }, (_, at) => login(service, GUESS, `198.51.100.${at}`)))
    const limited = answers.filter(({ status }) => status === 429)
    // X-Forwarded-For counts only with SVC_TRUST_PROXY.
    expect(limited).toHaveLength(90)
    for (const { headers } of limited) expect(Number(headers.get('retry-after'))).toBeGreaterThan(50)
    await service.stop()
  })

  it('are counted together behind a proxy that writes the port of each connection too', async () => {
    const service = await startService({ env: { SVC_TRUST_PROXY: '1' } })
    await setPassword(service)
    const statuses: number[] = []
    for (let port = 40_000; port < 40_011; port += 1) statuses.push((await login(service, GUESS, `198.51.100.1:${port}`)).status)
    expect(statuses.slice(-2)).toEqual([400, 429])
    expect((await login(service, PASSWORD, '198.51.100.2:40000')).status).toBe(200)
    await service.stop()
  })
})
