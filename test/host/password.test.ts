import { spawnSync } from 'node:child_process'
import { resolve } from 'node:path'
import { describe, expect, it } from 'vitest'
import { processesWith } from '../helpers/process/processes.ts'
import { startService } from '../helpers/process/service.ts'
import { temporaryDataDir } from '../helpers/process/temporary-data-dir.ts'

const PASSWORD = 'correct horse battery'

describe('the password of the environment', () => {
  it('protects the API from the first request on, is kept nowhere else, and does not replace a stored one', async () => {
    const dataDir = temporaryDataDir()
    const first = await startService({ dataDir, env: { SVC_PASSWORD: PASSWORD } })
    expect((await first.request('GET', '/svc/pipeline')).status).toBe(401)
    expect((await first.request('POST', '/svc/auth/login', { password: PASSWORD })).status).toBe(200)
    expect(processesWith(`SVC_PASSWORD=${PASSWORD}`)).toEqual([first.pid])
    expect(first.log.join('\n')).not.toContain(PASSWORD)
    await first.stop()

    const second = await startService({ dataDir, env: { SVC_PASSWORD: 'another password' } })
    expect((await second.request('POST', '/svc/auth/login', { password: 'another password' })).status).toBe(400)
    expect((await second.request('POST', '/svc/auth/login', { password: PASSWORD })).status).toBe(200)
    await second.stop()
  })

  it('is required where other hosts reach the API, as in the image', async () => {
    const dataDir = temporaryDataDir()
    const env = { SVC_DATA_DIR: dataDir, SVC_PORT: '0', SVC_HOST: '0.0.0.0', SVC_REQUIRE_PASSWORD: '1' }
    const refused = spawnSync(process.execPath, [resolve('dist/node.js')], { encoding: 'utf8', env: { ...process.env, ...env } })
    expect(refused.status).toBe(78)
    expect(refused.stderr).toMatch(/SVC_PASSWORD: no password is stored, .* Set SVC_PASSWORD/)
    const local = await startService({ dataDir, env: { ...env, SVC_HOST: '127.0.0.1' } })
    expect((await local.request('PUT', '/svc/auth/password', { password: PASSWORD })).status).toBe(200)
    await local.stop()
    const stored = await startService({ dataDir, env })
    expect((await stored.request('GET', '/svc/pipeline')).status).toBe(401)
    const login = await stored.request('POST', '/svc/auth/login', { password: PASSWORD })
    const authorization = `Bearer ${(login.body as { token: string }).token}`
    const removal = await stored.request('DELETE', '/svc/auth/password', undefined, { authorization })
    expect([removal.status, removal.body]).toMatchObject([409, { code: 'CONFLICT', details: { reason: 'password_required' } }])
    expect((await stored.request('GET', '/svc/pipeline')).status).toBe(401)
    await stored.stop()
  })
})
