import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, expect } from 'vitest'
import { type Service, startService } from '../process/service.ts'

/**
 * One service for all tests of a file, none of which may kill it. After each test its pipelines are deleted, and its settings are
 * those of the start.
 */
export const shareService = (env: Readonly<Record<string, string>> = {}): Service => {
  let service: Service | undefined
  let settings: unknown
  const started = (): Service => service ?? expect.fail('The service has not started')

  beforeAll(async () => {
    const dataDir = mkdtempSync(join(tmpdir(), 'svc-'))
    service = await startService({ dataDir, env })
    settings = (await service.request('GET', '/svc/settings')).body
  })
  afterEach(async () => {
    const { body } = await started().request('GET', '/svc/pipeline')
    await Promise.all((body as { id: string }[]).map(({ id }) => remove(started(), id)))
    expect((await started().request('PUT', '/svc/settings', settings)).status).toBe(200)
  })
  afterAll(async () => {
    if (service === undefined) return
    expect(await service.stop()).toBe(0)
    rmSync(service.dataDir, { recursive: true, force: true, maxRetries: 5 })
  })
  return new Proxy({} as Service, { get: (_target, name) => Reflect.get(started(), name) })
}

const remove = async (service: Service, id: string): Promise<void> => {
  await service.request('PUT', `/svc/pipeline/${id}/stop`)
  expect((await service.request('DELETE', `/svc/pipeline/${id}`)).status).toBe(204)
}
