/**
 * The package of the service for npm, on a host with Node.js 24: installed without a registry, it is small, runs no script, and serves.
 */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { existsSync, globSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { startService } from '../../helpers/process/service.ts'

const ROOT = resolve(import.meta.dirname, '../../..')
/** Of which 190 MB would be another Node.js. */
const MOST_MEGABYTES = 90
const folder = mkdtempSync(join(tmpdir(), 'npm-package-'))
const run = (file: string, ...args: string[]) =>
  execFileSync(file, args, { cwd: ROOT, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] })

let packed = ''
try {
  packed = resolve(ROOT, run('npm', 'run', '-s', 'package').trim().split('\n').at(-1) ?? '')
  // Nothing answers there.
  run('npm', 'install', '--prefix', folder, '--registry', 'http://127.0.0.1:1', '--no-audit', '--no-fund', packed)
  const installed = join(folder, 'node_modules/video-pipeline-service')
  const files = globSync('**/*', { cwd: installed, exclude: (name) => name === '.git' })
  const megabytes = files.reduce((total, name) => total + statSync(join(installed, name)).size, 0) / 1e6
  process.stdout.write(`${megabytes.toFixed(0)} MB installed, ${(statSync(packed).size / 1e6).toFixed(0)} MB packed\n`)
  assert.ok(megabytes < MOST_MEGABYTES, `it has ${megabytes.toFixed(0)} MB`)
  assert.deepEqual(
    files.filter((name) => /node-linux|scarf/.test(name)),
    [],
  )
  for (const name of files.filter((file) => file.endsWith('package.json')))
    assert.ok(!('scripts' in JSON.parse(readFileSync(join(installed, name), 'utf8'))), `${name} has scripts`)
  assert.match(run(process.execPath, join(installed, 'dist/cli.js'), '--version'), /^\d/)
  const service = await startService({ dataDir: join(folder, 'data'), entry: join(installed, 'dist/node.js') })
  try {
    const created = await service.request('POST', '/svc/pipeline', { id: 'first', source: { uri: 'test://ball?width=160&height=120' } })
    assert.equal(created.status, 201)
  } finally {
    await service.stop()
  }
  process.stdout.write('the package serves\n')
} finally {
  rmSync(folder, { recursive: true, force: true })
  if (packed !== '' && existsSync(packed)) rmSync(packed)
}
