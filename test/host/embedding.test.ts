import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { codeBlocks, links, readDocument, section, USER_DOCUMENTS } from '../helpers/documents.ts'
import { temporaryDataDir } from '../helpers/process/temporary-data-dir.ts'

const ROOT = resolve(import.meta.dirname, '../..')
const FIXTURES = join(ROOT, 'test/fixtures/embedding')
const THIRD_PARTY = join(ROOT, 'test/fixtures/third-party/node_modules')

interface Packed {
  readonly size: number
  readonly unpackedSize: number
  readonly filename: string
  readonly files: readonly { readonly path: string }[]
}

/** A separate project with the service installed from its tarball. */
let project: string
let packed: Packed

const link = (from: string, name: string): void => {
  const target = join(project, 'node_modules', name)
  mkdirSync(resolve(target, '..'), { recursive: true })
  symlinkSync(join(from, name), target)
}

beforeAll(() => {
  project = mkdtempSync(join(tmpdir(), 'embedding-'))
  execFileSync(process.execPath, [join(ROOT, 'build.mjs'), '--declarations'])
  const report = execFileSync('npm', ['pack', '--ignore-scripts', '--json', '--pack-destination', project], {
    cwd: ROOT,
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  packed = (JSON.parse(report.toString()) as Packed[])[0] as Packed
  const installed = join(project, 'node_modules/video-pipeline-service')
  mkdirSync(installed, { recursive: true })
  execFileSync('tar', ['xzf', join(project, packed.filename), '--strip-components=1', '-C', installed])
  // Its dependencies are linked, so that the test needs no registry.
  for (const name of Object.keys(dependenciesOf(installed))) link(join(ROOT, 'node_modules'), name)
  link(join(ROOT, 'node_modules'), '@types/node')
  link(THIRD_PARTY, 'fastify')
  writeFileSync(join(project, 'package.json'), JSON.stringify({ name: 'somebody-elses', private: true, type: 'module' }))
  for (const name of readdirSync(FIXTURES)) copyFileSync(join(FIXTURES, name), join(project, name.replace(/\.txt$/, '')))
})

afterAll(() => rmSync(project, { recursive: true, force: true }))

const dependenciesOf = (folder: string): Record<string, string> =>
  (JSON.parse(execFileSync('cat', [join(folder, 'package.json')]).toString()) as { dependencies: Record<string, string> }).dependencies

/** Runs an example until it listens; it ends with the test. */
const start = async (example: string) => {
  const dataDir = temporaryDataDir()
  const child = spawn(process.execPath, [join(project, example)], {
    cwd: project,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, PORT: '0', SVC_DATA_DIR: dataDir, SVC_LOG_LEVEL: 'error' },
  })
  let complaints = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    complaints += text
  })
  const exited = once(child, 'exit')
  onTestFinished(() => void child.kill('SIGKILL'))
  const [line] = (await Promise.race([
    once(child.stdout.setEncoding('utf8'), 'data'),
    exited.then(() => {
      throw new Error(complaints)
    }),
  ])) as [string]
  return {
    url: line.trim().replace('listening at ', ''),
    stop: async () => {
      child.kill('SIGTERM')
      return (await exited)[0] as number | null
    },
  }
}

const drive = (environment: Record<string, string>): { id: string; picture_bytes: number } =>
  JSON.parse(execFileSync(process.execPath, [join(project, 'drive.mjs')], { env: { ...process.env, ...environment } }).toString())

describe('the package', () => {
  it('contains the bundles and their declarations, and no tests', () => {
    const paths = packed.files.map(({ path }) => path)
    const bundles = ['dist/node.js', 'dist/engine.js', 'dist/worker.js', 'dist/types/handlers/app.d.ts', 'LICENSE']
    expect(paths).toEqual(expect.arrayContaining([...bundles, ...USER_DOCUMENTS]))
    for (const document of USER_DOCUMENTS) expect(paths).toEqual(expect.arrayContaining(links(document).map(({ file }) => file)))
    expect(paths.filter((path) => /^test\/|\.map$|\.ts$(?<!\.d\.ts)|^\.|data\//.test(path))).toEqual([])
    // The dashboard is in it compressed, too, and the pictures are.
    expect(packed.size).toBeLessThan(2_000_000)
    process.stderr.write(`npm pack: ${packed.size} bytes, ${packed.unpackedSize} unpacked, ${paths.length} files\n`)
  })

  it('has types that a strict program resolves', () => {
    const options = [
      '--noEmit',
      '--strict',
      '--module',
      'nodenext',
      '--target',
      'es2024',
      '--lib',
      'es2024,dom,dom.iterable',
      '--types',
      'node',
    ]
    const tsc = join(ROOT, 'node_modules/typescript/bin/tsc')
    const run = (): string =>
      execFileSync(process.execPath, [tsc, ...options, '--skipLibCheck', 'consumer.ts'], { cwd: project }).toString()
    expect(run()).toBe('')
  })
})

describe('the embedded service', () => {
  it('runs in Fastify under a prefix, behind the authentication of the application', async () => {
    const { url, stop } = await start('in-fastify.mjs')
    expect((await fetch(`${url}/video/svc/pipeline`)).status).toBe(403)
    expect(await (await fetch(url)).json()).toEqual({ application: 'an application of its own' })
    expect(drive({ SVC_URL: `${url}/video`, COOKIE: 'session=alice' })).toEqual({ id: 'driven', picture_bytes: expect.any(Number) })
    expect(await stop()).toBe(0)
  })

  it('serves only the chosen endpoint groups in a plain HTTP server', async () => {
    const { url, stop } = await start('bare-server.mjs')
    expect(await (await fetch(`${url}/svc/health`)).json()).toMatchObject({ status: 'ok' })
    const source = { uri: 'test://ball?width=320&height=240' }
    const created = await fetch(`${url}/svc/pipeline`, { method: 'POST', body: JSON.stringify({ id: 'one', mode: 'simple', source }) })
    expect([created.status, ((await created.json()) as { state: string }).state]).toEqual([201, 'playing'])
    const refused = await fetch(`${url}/svc/pipeline/nobody`)
    expect([refused.status, ((await refused.json()) as { code: string }).code]).toEqual([404, 'NOT_FOUND'])
    expect((await fetch(`${url}/svc/settings`)).status).toBe(404)
    expect(await stop()).toBe(0)
  })

  it('serves the whole API as documented', async () => {
    const [example = ''] = codeBlocks(section(readDocument('docs/embedding.md'), '## The service in your server'), 'js')
    const adapted = example
      .replace("'./data'", 'process.env.SVC_DATA_DIR')
      .replace(
        "listen(8080, '127.0.0.1')",
        "listen(0, '127.0.0.1', function () { console.log('http://127.0.0.1:' + this.address().port) })",
      )
    writeFileSync(join(project, 'documented.mjs'), adapted)
    const { url, stop } = await start('documented.mjs')
    expect(await (await fetch(`${url}/svc/health`)).json()).toMatchObject({ status: 'ok' })
    expect((await fetch(`${url}/svc/settings`)).status).toBe(200)
    expect(await stop()).toBe(0)
  })
})
