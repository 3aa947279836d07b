/**
 * `export` and `apply` of many pipelines: how long it takes to see that nothing differs.
 * apply [PIPELINES] [ROUNDS]
 */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { startService } from '../../helpers/process/service.ts'

const PIPELINES = Number(process.argv[2] ?? 200)
const ROUNDS = Number(process.argv[3] ?? 5)
/** Most that one round may take, milliseconds. */
const LIMIT_MS = 2000
const COMMAND = resolve(import.meta.dirname, '../../../dist/cli.js')

const dataDir = mkdtempSync(join(tmpdir(), 'apply-'))
const service = await startService({ dataDir, env: { SVC_OUTPUT_PORTS: '11300' } })

try {
  const source = { uri: 'rtsp://viewer:secret@10.0.0.5/stream' }
  for (let number = 0; number < PIPELINES; number++) {
    const { status } = await service.request('POST', '/svc/pipeline', { id: `camera-${number}`, mode: 'simple', on_demand: true, source })
    if (status !== 201) throw new Error(`A create answered ${status}`)
  }
  const times: number[] = []
  for (let round = 0; round < ROUNDS; round++) {
    const began = performance.now()
    const line = '"$0" "$1" export | "$0" "$1" apply -f -'
    const { stdout } = spawnSync('bash', ['-c', line, process.execPath, COMMAND], {
      encoding: 'utf8',
      env: { ...process.env, SVC_URL: service.url },
    })
    times.push(performance.now() - began)
    if (stdout !== `${PIPELINES} unchanged\n`) throw new Error(`apply printed: ${stdout}`)
  }
  const median = times.sort((one, other) => one - other)[Math.floor(times.length / 2)] ?? 0
  process.stdout.write(
    `export | apply of ${PIPELINES}: median ${median.toFixed(0)} ms, least ${times[0]?.toFixed(0)} ms; at most ${LIMIT_MS}\n`,
  )
  process.exitCode = median <= LIMIT_MS ? 0 : 1
} finally {
  await service.stop()
  rmSync(dataDir, { recursive: true, force: true })
}
