/**
 * Kills and starts the API many times over one engine that plays: what the engine has open afterwards must be what it had before, and
 * a reader misses nothing. api-restarts [TIMES]
 */
import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { sleep } from '../../helpers/bench/measure.ts'
import { createPipeline } from '../../helpers/bench/service-run.ts'
import { openFiles, processesWith } from '../../helpers/process/processes.ts'
import { type Service, startService } from '../../helpers/process/service.ts'
import { openReader, sequenceGaps } from '../../helpers/rtsp/reader.ts'
import { until } from '../../helpers/until.ts'

const times = Number(process.argv[2] ?? 100)
/** What the engine keeps of its own past, such as compiled code and statistics. */
const ALLOWED_HEAP_KIB = 2048
const folder = mkdtempSync(join(tmpdir(), 'bench-restarts-'))
const resourcesFile = join(folder, 'resources.json')
const preload = resolve(import.meta.dirname, '../../fixtures/count-resources.mjs')
const options = {
  dataDir: join(folder, 'data'),
  env: { SVC_OUTPUT_PORTS: '23000-23099', NODE_OPTIONS: `--import=${preload} --expose-gc`, RESOURCES_FILE: resourcesFile },
}

interface Counted {
  readonly resources: Readonly<Record<string, number>>
  readonly listeners: number
  readonly heap: number
}

/** What the engine has open, with one API process connected. */
const count = async (service: Service) => {
  // Connections of the process that was killed end meanwhile.
  await sleep(3000)
  rmSync(resourcesFile, { force: true })
  process.kill(service.enginePid(), 'SIGUSR2')
  await until(
    () => existsSync(resourcesFile),
    (there) => there,
  )
  const { resources: all, listeners, heap } = JSON.parse(readFileSync(resourcesFile, 'utf8')) as Counted
  // Work of this very moment.
  const { Immediate: _, ...resources } = all
  return { descriptors: openFiles(service.enginePid()), listeners, ...resources, heap_kib: Math.round(heap / 1024) }
}

try {
  let service = await startService(options)
  const reader = await openReader(
    await createPipeline(service, { id: 'plays', source: { uri: 'test://ball?width=160&height=120&fps=15' } }),
  )
  const engine = service.enginePid()
  // One round, so that both counts are of an engine that was found.
  await service.kill()
  service = await startService(options)
  const before = await count(service)
  console.log(JSON.stringify({ when: 'before', ...before }))
  for (let round = 1; round <= times; round += 1) {
    await service.kill()
    service = await startService(options)
    await service.request('GET', '/svc/pipeline/plays')
  }
  const after = await count(service)
  console.log(JSON.stringify({ when: `after ${times} kills of the API`, ...after }))
  assert.deepEqual({ ...after, heap_kib: before.heap_kib }, before)
  assert.ok(after.heap_kib - before.heap_kib < ALLOWED_HEAP_KIB, 'the heap of the engine grows')
  assert.deepEqual([service.enginePid(), reader.open, sequenceGaps(reader.packets)], [engine, true, []])
  await reader.close()
  await service.stop()
} finally {
  for (const pid of processesWith(`SVC_DATA_DIR=${options.dataDir}`)) process.kill(pid, 'SIGKILL')
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
}
