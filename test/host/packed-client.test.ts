import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { chromium } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { codeBlocks, readDocument, section } from '../helpers/documents.ts'
import { type Service, startService } from '../helpers/process/service.ts'
import { temporaryDataDir } from '../helpers/process/temporary-data-dir.ts'
import { until } from '../helpers/until.ts'

const ROOT = resolve(import.meta.dirname, '../..')
const THIRD_PARTY = join(ROOT, 'test/fixtures/third-party/node_modules')
const FIXTURES = join(ROOT, 'test/fixtures/embedding')
const PROGRAM = 'every-operation.ts'

/** A separate project with the service installed from its tarball. */
let project: string

beforeAll(() => {
  project = mkdtempSync(join(tmpdir(), 'packed-client-'))
  execFileSync(process.execPath, [join(ROOT, 'build.mjs'), '--declarations'])
  const report = execFileSync('npm', ['pack', '--ignore-scripts', '--json', '--pack-destination', project], {
    cwd: ROOT,
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  const [{ filename }] = JSON.parse(report.toString()) as [{ readonly filename: string }]
  const installed = join(project, 'node_modules/video-pipeline-service')
  mkdirSync(installed, { recursive: true })
  execFileSync('tar', ['xzf', join(project, filename), '--strip-components=1', '-C', installed])
  const { dependencies } = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8')) as { dependencies: Record<string, string> }
  for (const name of [...Object.keys(dependencies), '@types/node']) link(join(ROOT, 'node_modules'), name)
  for (const name of ['@types/bun', '@types/deno', 'bun-types']) link(THIRD_PARTY, name)
  writeFileSync(join(project, 'package.json'), JSON.stringify({ name: 'somebody-elses', private: true, type: 'module' }))
  copyFileSync(join(FIXTURES, `${PROGRAM}.txt`), join(project, PROGRAM))
  for (const name of ['drive.mjs', 'follow.mjs', 'in-process.mjs']) copyFileSync(join(FIXTURES, name), join(project, name))
}, 120_000)

afterAll(() => rmSync(project, { recursive: true, force: true }))

const link = (from: string, name: string): void => {
  const target = join(project, 'node_modules', name)
  mkdirSync(dirname(target), { recursive: true })
  symlinkSync(join(from, name), target)
}

const compile = (compiler: string, options: Record<string, unknown>, programs: readonly string[] = [PROGRAM]): string => {
  const compilerOptions = {
    strict: true,
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
    verbatimModuleSyntax: true,
    noEmit: true,
    target: 'es2022',
    ...options,
  }
  writeFileSync(join(project, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: programs }))
  try {
    return execFileSync(process.execPath, [compiler, '-p', project]).toString()
  } catch (error) {
    return (error as { stdout: Buffer }).stdout.toString()
  }
}

const OWN_TSC = join(ROOT, 'node_modules/typescript/bin/tsc')
const OLDER_TSC = join(THIRD_PARTY, 'typescript/bin/tsc')
const BROWSER = ['es2022', 'dom', 'dom.iterable', 'dom.asynciterable']

describe('the packed client', () => {
  it.each([
    ['Node.js', OWN_TSC, { module: 'nodenext', lib: ['es2024'], types: ['node'] }],
    ['a browser, with a bundler', OWN_TSC, { module: 'esnext', moduleResolution: 'bundler', lib: BROWSER, types: [] }],
    ['a browser, with an older compiler', OLDER_TSC, { module: 'esnext', moduleResolution: 'bundler', lib: BROWSER, types: [] }],
    ['Bun', OLDER_TSC, { module: 'preserve', lib: ['esnext'], types: ['bun'], skipLibCheck: true }],
    ['Deno', OLDER_TSC, { module: 'nodenext', lib: BROWSER, types: ['deno'], skipLibCheck: true }],
  ])(
    'has types that a strict program for %s compiles with',
    (_, compiler, options) => {
      expect(compile(compiler, options)).toBe('')
    },
    120_000,
  )

  // One run of the compiler, whose errors name the file: each takes 2 s of CPU time for the same libraries.
  it('comes with types of the other entries that need no library to be skipped, and a documented example that TypeScript takes', () => {
    const [example = ''] = codeBlocks(section(readDocument('docs/embedding.md'), '## Client'), 'js')
    const programs = {
      'documented.ts': example,
      'application.ts': `import { assemble, createApp, type HostPorts } from 'video-pipeline-service'
        export const app = createApp(assemble({} as HostPorts))`,
      'host.ts': `import { createService } from 'video-pipeline-service/node'
        export const service = createService({ environment: {} })`,
      'worker.ts': `import worker, { type WorkerEnvironment } from 'video-pipeline-service/worker'
        export const used = [worker, {} as WorkerEnvironment]`,
      'group.ts': "export { pipelineRoutes } from 'video-pipeline-service/handlers/pipelines'",
    }
    for (const [name, text] of Object.entries(programs)) writeFileSync(join(project, name), text)
    expect(compile(OWN_TSC, { module: 'nodenext', lib: ['es2024'], types: ['node'] }, Object.keys(programs))).toBe('')
  }, 120_000)

  it('calls every operation of a running service', async () => {
    const port = 12_000 + ((process.pid * 7) % 20_000)
    const service = await startService({ env: { SVC_OUTPUT_PORTS: String(port), SVC_MEDIA_SERVER: `127.0.0.1:${port}` } })
    onTestFinished(() => service.stop().then(() => {}))
    const output = execFileSync(process.execPath, [join(project, PROGRAM)], {
      env: { ...process.env, SVC_URL: service.url, SVC_API_KEY: readFileSync(join(service.dataDir, 'api-key'), 'utf8').trim() },
    })
    expect(JSON.parse(output.toString())).toEqual([])
  }, 120_000)

  it('does what its document shows', async () => {
    const service = await startService()
    onTestFinished(() => service.stop().then(() => {}))
    const [example = ''] = codeBlocks(section(readDocument('docs/embedding.md'), '## Client'), 'js')
    writeFileSync(join(project, 'documented.mjs'), example.replace('http://127.0.0.1:8080', service.url))
    const output = execFileSync(process.execPath, [join(project, 'documented.mjs')])
    expect(output.toString()).toMatch(/^image\/jpeg\n409 CONFLICT .*porch/)
  })
})

const keyOf = ({ dataDir }: Service): string => readFileSync(join(dataDir, 'api-key'), 'utf8').trim()

describe('the examples', () => {
  it('drive.mjs automates a pipeline, also after a run that was cut off', async () => {
    const service = await startService()
    onTestFinished(() => service.stop().then(() => {}))
    const body = { id: 'driven', mode: 'simple', on_demand: true, source: { uri: 'test://ball?width=320&height=240' } }
    expect((await service.request('POST', '/svc/pipeline', body)).status).toBe(201)
    const output = execFileSync(process.execPath, [join(project, 'drive.mjs')], { env: { ...process.env, SVC_URL: service.url } })
    expect(JSON.parse(output.toString())).toEqual({ id: 'driven', picture_bytes: expect.any(Number) })
    expect((await service.request('GET', '/svc/pipeline')).body).toEqual([])
  })

  it('in-process.mjs has the service inside', () => {
    const env = { ...process.env, SVC_DATA_DIR: temporaryDataDir(), SVC_LOG_LEVEL: 'error', SVC_OUTPUT_PORTS: '11350-11359' }
    const output = execFileSync(process.execPath, [join(project, 'in-process.mjs')], { env })
    expect(JSON.parse(output.toString())).toEqual({
      state: 'playing',
      output: expect.stringContaining('/inside'),
      event: 'pipeline_status',
    })
  })

  it('follow.mjs goes on after the service was restarted', async () => {
    const service = await startService()
    const { port } = new URL(service.url)
    const child = spawn(process.execPath, [join(project, 'follow.mjs')], {
      stdio: ['ignore', 'pipe', 'inherit'],
      env: { ...process.env, SVC_URL: service.url, SVC_API_KEY: keyOf(service) },
    })
    const exited = once(child, 'exit')
    onTestFinished(() => void child.kill('SIGKILL'))
    let text = ''
    child.stdout.setEncoding('utf8').on('data', (more: string) => {
      text += more
    })
    const says = (wanted: string): Promise<unknown> =>
      until(
        () => text,
        (all) => all.includes(wanted),
        30_000,
      )
    await service.request('POST', '/svc/pipeline', { id: 'first', mode: 'simple', on_demand: true, source: { uri: 'test://ball' } })
    await says('first ready')
    await service.stop()
    await says('lost, again in')
    const again = await startService({ dataDir: service.dataDir, env: { SVC_PORT: port } })
    onTestFinished(() => again.stop().then(() => {}))
    await again.request('POST', '/svc/pipeline', { id: 'second', mode: 'simple', on_demand: true, source: { uri: 'test://ball' } })
    await says('second ready')
    child.kill('SIGTERM')
    expect((await exited)[0]).toBe(0)
  }, 60_000)

  it('page.html follows the service from a browser, at an origin of its own', async () => {
    const files: Readonly<Record<string, readonly [type: string, file: string]>> = {
      '/': ['text/html', join(FIXTURES, 'page.html')],
      '/client.js': ['text/javascript', join(project, 'node_modules/video-pipeline-service/dist/client.js')],
    }
    const site = createServer(({ url = '' }, response) => {
      const [type, file] = files[new URL(url, 'http://site').pathname] ?? []
      response.writeHead(file === undefined ? 404 : 200, { 'content-type': type ?? 'text/plain' })
      response.end(file === undefined ? '' : readFileSync(file))
    }).listen(0, '127.0.0.1')
    await once(site, 'listening')
    onTestFinished(() => void site.close())
    const origin = `http://127.0.0.1:${(site.address() as AddressInfo).port}`
    const service = await startService({ env: { SVC_CORS_ORIGINS: origin, SVC_PASSWORD: 'correct horse' } })
    onTestFinished(() => service.stop().then(() => {}))
    const headers = { 'x-api-key': keyOf(service) }
    const body = { id: 'gate', mode: 'simple', source: { uri: 'test://ball?width=320&height=240' } }
    expect((await service.request('POST', '/svc/pipeline', body, headers)).status).toBe(201)

    const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox', '--disable-gpu'] })
    onTestFinished(() => browser.close())
    const page = await browser.newPage()
    await page.goto(`${origin}/?service=${service.url}&password=correct%20horse`)
    await page.getByText('gate playing').waitFor()
    await service.request('PUT', '/svc/pipeline/gate/stop', undefined, headers)
    await page.getByText('gate ready').waitFor()
    expect(await page.locator('#picture').evaluate((image: HTMLImageElement) => image.decode().then(() => image.naturalWidth))).toBe(160)
    expect(await page.locator('#fault').textContent()).toBe('')
    await page.goto(`${origin}/?service=${service.url}&password=wrong`)
    await page.getByText('VALIDATION_ERROR').waitFor()
  }, 60_000)
})
