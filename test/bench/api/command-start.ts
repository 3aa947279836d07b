/**
 * What `video-pipeline-service ls` takes beside `curl` of the same, with 20 pipelines: wall clock, median and least.
 * command-start [ROUNDS]
 */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { startService } from '../../helpers/process/service.ts'

const ROUNDS = Number(process.argv[2] ?? 20)
const COMMAND = resolve(import.meta.dirname, '../../../dist/cli.js')
/** Most that the command may take longer, milliseconds. */
const LIMIT_MS = 150

const dataDir = mkdtempSync(join(tmpdir(), 'command-start-'))
const service = await startService({ dataDir })

const measure = (name: string, program: string, args: readonly string[]): number => {
  const times: number[] = []
  for (let round = 0; round < ROUNDS; round++) {
    const began = performance.now()
    const { status } = spawnSync(program, args, { stdio: ['ignore', 'pipe', 'inherit'] })
    if (status !== 0) throw new Error(`${name} ended with ${status}`)
    times.push(performance.now() - began)
  }
  const sorted = times.sort((one, other) => one - other)
  const median = sorted[Math.floor(sorted.length / 2)] ?? 0
  process.stdout.write(`${name.padEnd(6)} median ${median.toFixed(0)} ms, least ${sorted[0]?.toFixed(0)} ms\n`)
  return median
}

try {
  for (let number = 0; number < 20; number++) {
    await service.request('POST', '/svc/pipeline', {
      id: `camera-${number}`,
      mode: 'simple',
      on_demand: true,
      source: { uri: 'test://ball' },
    })
  }
  const curl = measure('curl', 'curl', ['-s', `${service.url}/svc/pipeline`])
  const ls = measure('ls', process.execPath, [COMMAND, 'ls', '--url', service.url])
  process.stdout.write(`${(ls - curl).toFixed(0)} ms more than curl; at most ${LIMIT_MS}\n`)
  process.exitCode = ls - curl <= LIMIT_MS ? 0 : 1
} finally {
  await service.stop()
  rmSync(dataDir, { recursive: true, force: true })
}
