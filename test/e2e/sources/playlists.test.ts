import { mkdtempSync, rmSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { createTargets } from '../../helpers/attacks/targets.ts'
import { startService } from '../../helpers/process/service.ts'
import { changeSettings, createPipeline, viewOf } from '../../helpers/service/pipelines.ts'

it('a playlist where there is no sandbox plays what it names on the network, and opens no file of the host', async () => {
  const folder = mkdtempSync(join(homedir(), '.playlists-test-'))
  const targets = await createTargets(folder)
  onTestFinished(() => {
    targets.close()
    rmSync(folder, { recursive: true })
  })
  const service = await startService({ env: { SVC_SANDBOX: 'off' } })
  const sourceOf = (id: string) => ({ uri: `${targets.web}/${id}.m3u8`, latency_ms: 0 })
  await changeSettings(service, { start_timeout_seconds: 5 })
  const refused = ['segments', 'variant', 'map'].map((id) =>
    service.request('POST', '/svc/pipeline', { id, mode: 'simple', source: sourceOf(id) }),
  )
  for (const { status } of await Promise.all(refused)) expect(status).not.toBe(201)
  await changeSettings(service, { start_timeout_seconds: 30 })
  await createPipeline(service, 'harmless', { source: sourceOf('harmless') })
  expect((await viewOf(service, 'harmless')).runtime.frames).toBeGreaterThan(0)
}, 60_000)
