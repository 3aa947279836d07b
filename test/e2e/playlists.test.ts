import { mkdtempSync, rmSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createTargets } from '../helpers/attacks/targets.ts'
import { startService } from '../helpers/process/service.ts'
import { until } from '../helpers/until.ts'

describe('a playlist where there is no sandbox', () => {
  it('plays what it names on the network, and opens no file of the host', async () => {
    const folder = mkdtempSync(join(homedir(), '.playlists-test-'))
    const targets = await createTargets(folder)
    onTestFinished(() => {
      targets.close()
      rmSync(folder, { recursive: true })
    })
    const service = await startService({ env: { SVC_SANDBOX: 'off' } })
    await service.request('PUT', '/svc/settings', { start_timeout_seconds: 5 })
    const create = (id: string) =>
      service.request('POST', '/svc/pipeline', { id, mode: 'simple', source: { uri: `${targets.web}/${id}.m3u8`, latency_ms: 0 } })
    for (const id of ['segments', 'variant', 'map']) expect([id, (await create(id)).status]).not.toEqual([id, 201])
    await service.request('PUT', '/svc/settings', { start_timeout_seconds: 30 })
    expect((await create('harmless')).status).toBe(201)
    await until(
      async () => (await service.request('GET', '/svc/pipeline/harmless')).body.runtime.frames,
      (frames) => frames > 0,
    )
    await service.stop()
  }, 60_000)
})
