import { renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { type Service, startService } from '../helpers/process/service.ts'
import { temporaryDataDir } from '../helpers/process/temporary-data-dir.ts'
import { until } from '../helpers/until.ts'

const VALID = { licensee: 'x', codecs: ['h264'] }

describe('the license', () => {
  it('starts what it refused at the start of the service as soon as it is valid', { timeout: 60_000 }, async () => {
    const dataDir = temporaryDataDir()
    const file = join(temporaryDataDir(), 'license.json')
    const install = (license: object): void => {
      writeFileSync(`${file}.new`, JSON.stringify(license))
      renameSync(`${file}.new`, file)
    }
    const start = (): Promise<Service> => startService({ dataDir, env: { SVC_LICENSE_FILE: file } })
    install(VALID)
    const before = await start()
    const source = { uri: 'test://ball?width=320&height=240' }
    expect((await before.request('POST', '/svc/pipeline', { id: 'gate', mode: 'simple', source })).status).toBe(201)
    await before.stop()
    install({ ...VALID, expires: '2001-01-01' })
    const service = await start()
    expect((await service.waitForLog('pipeline_not_reconciled')).id).toBe('gate')
    expect((await service.request('GET', '/svc/pipeline/gate')).body).toMatchObject({ state: 'ready', runtime: { phase: 'idle' } })
    install(VALID)
    const { body } = await until(
      () => service.request('GET', '/svc/pipeline/gate'),
      (answer) => answer.body.runtime.phase === 'playing',
    )
    expect(body.state).toBe('playing')
    await service.stop()
  })
})
