import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import packageJson from '../../../package.json' with { type: 'json' }
import { useChromium } from '../../helpers/browser/dashboard.ts'
import { codeBlocks, links, readDocument, section, USER_DOCUMENTS } from '../../helpers/documents.ts'
import { startHttpServer } from '../../helpers/http-server.ts'
import { type Service, startService } from '../../helpers/process/service.ts'
import { temporaryDataDir } from '../../helpers/process/temporary-data-dir.ts'
import { givePluginList } from '../../helpers/run/plugin-list.ts'
import { createPipeline } from '../../helpers/service/pipelines.ts'

const ROOT = resolve(import.meta.dirname, '../../..')
const FIXTURES = join(ROOT, 'test/fixtures/embedding')
const OWN = join(ROOT, 'node_modules')
const THIRD_PARTY = join(ROOT, 'test/fixtures/third-party/node_modules')
const SOURCE = { uri: 'test://ball?width=320&height=240' }

interface Packed {
  readonly size: number
  readonly filename: string
  readonly files: readonly { readonly path: string }[]
}

/** A separate project with the service installed from its tarball. */
let project: string
let packed: Packed | undefined

beforeAll(() => {
  project = mkdtempSync(join(tmpdir(), 'package-'))
  execFileSync(process.execPath, [join(ROOT, 'build.mjs'), '--declarations'])
  const pack = ['pack', '--ignore-scripts', '--json', '--pack-destination', project]
  const report = execFileSync('npm', pack, { cwd: ROOT, stdio: ['ignore', 'pipe', 'ignore'] })
  packed = (JSON.parse(report.toString()) as Packed[])[0]
  const installed = join(project, 'node_modules/video-pipeline-service')
  mkdirSync(installed, { recursive: true })
  execFileSync('tar', ['xzf', join(project, packed?.filename ?? ''), '--strip-components=1', '-C', installed])
  // Its dependencies are linked, so that the test needs no registry.
  const { dependencies } = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8')) as { dependencies: Record<string, string> }
  for (const name of [...Object.keys(dependencies), '@types/node']) link(OWN, name)
  for (const name of ['@types/bun', '@types/deno', 'bun-types', 'fastify']) link(THIRD_PARTY, name)
  writeFileSync(join(project, 'package.json'), JSON.stringify({ name: 'somebody-elses', private: true, type: 'module' }))
  execFileSync(process.execPath, [join(ROOT, 'engine/deploy/package/client.ts'), '--stage', clientAlone()])
  for (const name of readdirSync(FIXTURES)) copyFileSync(join(FIXTURES, name), join(project, name.replace(/\.txt$/, '')))
}, 120_000)
afterAll(() => rmSync(project, { recursive: true, force: true }))

/** The package of the client alone. */
const clientAlone = (): string => join(project, 'node_modules/video-pipeline-client')

const link = (from: string, name: string): void => {
  const target = join(project, 'node_modules', name)
  mkdirSync(dirname(target), { recursive: true })
  symlinkSync(join(from, name), target)
}

/** Runs a program of the project to its end; answers what it printed. */
const runProgram = (program: string, env: Record<string, string> = {}): string =>
  execFileSync(process.execPath, [join(project, program)], { env: { ...process.env, ...env } }).toString()

const documented = (heading: string): string => codeBlocks(section(readDocument('docs/embedding.md'), heading), 'js')[0] ?? ''
const keyOf = ({ dataDir }: Service): string => readFileSync(join(dataDir, 'api-key'), 'utf8').trim()

describe('the package', () => {
  it('contains the bundles, their declarations and the documents, and no tests', () => {
    const paths = packed?.files.map(({ path }) => path) ?? []
    const bundles = ['dist/node.js', 'dist/engine.js', 'dist/worker.js', 'dist/types/handlers/app.d.ts', 'LICENSE']
    expect(paths).toEqual(expect.arrayContaining([...bundles, ...USER_DOCUMENTS]))
    for (const document of USER_DOCUMENTS) expect(paths).toEqual(expect.arrayContaining(links(document).map(({ file }) => file)))
    expect(paths.filter((path) => /^test\/|\.map$|\.ts$(?<!\.d\.ts)|^\.|data\//.test(path))).toEqual([])
    // The dashboard is in it compressed, too, and the pictures are.
    expect(packed?.size).toBeLessThan(2_500_000)
  })

  it('has a smaller one of the client, which needs no other', () => {
    const { dependencies, version } = JSON.parse(readFileSync(join(clientAlone(), 'package.json'), 'utf8')) as Record<string, unknown>
    expect([dependencies, version]).toEqual([undefined, packageJson.version])
    const files = readdirSync(clientAlone(), { recursive: true, encoding: 'utf8' }).filter((name) => /\.[jt]s$/.test(name))
    const texts = files.map((name) => readFileSync(join(clientAlone(), name), 'utf8'))
    expect(files.length).toBeGreaterThan(10)
    expect(texts.flatMap((text) => text.match(/(?:\bfrom |\bimport\()['"][^.'"][^'"]*['"]/g) ?? [])).toEqual([])
    writeFileSync(join(project, 'alone.mjs'), "import { createClient } from 'video-pipeline-client'; console.log(typeof createClient)")
    expect(runProgram('alone.mjs')).toBe('function\n')
  })

  const OWN_TSC = join(OWN, 'typescript/bin/tsc')
  const OLDER_TSC = join(THIRD_PARTY, 'typescript/bin/tsc')
  const BROWSER = ['es2022', 'dom', 'dom.iterable', 'dom.asynciterable']
  const PROGRAM = 'every-operation.ts'
  const compile = (compiler: string, options: Record<string, unknown>, files: readonly string[] = [PROGRAM]): string => {
    const strict = { strict: true, exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true, verbatimModuleSyntax: true }
    const compilerOptions = { ...strict, noEmit: true, target: 'es2022', ...options }
    writeFileSync(join(project, 'tsconfig.json'), JSON.stringify({ compilerOptions, files }))
    try {
      return execFileSync(process.execPath, [compiler, '-p', project]).toString()
    } catch (error) {
      return (error as { stdout: Buffer }).stdout.toString()
    }
  }

  it.each([
    ['a browser, with an older compiler', OLDER_TSC, { module: 'esnext', moduleResolution: 'bundler', lib: BROWSER, types: [] }],
    ['Bun', OLDER_TSC, { module: 'preserve', lib: ['esnext'], types: ['bun'], skipLibCheck: true }],
    ['Deno', OLDER_TSC, { module: 'nodenext', lib: BROWSER, types: ['deno'], skipLibCheck: true }],
  ])('has types that a strict program for %s compiles with', (_, compiler, options) => {
    expect(compile(compiler, options)).toBe('')
  })

  // One run of the compiler, whose errors name the file: each takes 2 s of CPU time for the same libraries.
  it('has types that strict programs for Node.js compile with, its documented examples among them, with no library skipped', () => {
    const programs = {
      'documented.ts': documented('## Client'),
      'alone.ts': documented('## Client').replace('video-pipeline-service/client', 'video-pipeline-client'),
      'application.ts': `import { assemble, createApp, type HostPorts } from 'video-pipeline-service'
        export const app = createApp(assemble({} as HostPorts))`,
      'host.ts': `import { createService } from 'video-pipeline-service/node'
        export const service = createService({ environment: {} })`,
      'worker.ts': `import worker, { type WorkerEnvironment } from 'video-pipeline-service/worker'
        export const used = [worker, {} as WorkerEnvironment]`,
      'group.ts': "export { pipelineRoutes } from 'video-pipeline-service/handlers/pipelines'",
    }
    for (const [name, text] of Object.entries(programs)) writeFileSync(join(project, name), text)
    const options = { module: 'nodenext', lib: ['es2024'], types: ['node'] }
    expect(compile(OWN_TSC, options, [PROGRAM, 'consumer.ts', ...Object.keys(programs)])).toBe('')
  })
})

describe('the client', () => {
  it('calls every operation of a running service', async () => {
    const port = 12_000 + ((process.pid * 7) % 20_000)
    const service = await startService({ env: { SVC_OUTPUT_PORTS: String(port), SVC_MEDIA_SERVER: `127.0.0.1:${port}` } })
    expect(JSON.parse(runProgram('every-operation.ts', { SVC_URL: service.url, SVC_API_KEY: keyOf(service) }))).toEqual([])
  })

  it('does what its document shows, and what the example drive.mjs does after a run that was cut off', async () => {
    const service = await startService()
    writeFileSync(join(project, 'documented.mjs'), documented('## Client').replace('http://127.0.0.1:8080', service.url))
    expect(runProgram('documented.mjs')).toMatch(/^image\/jpeg\n409 CONFLICT .*porch/)
    await createPipeline(service, 'driven', { on_demand: true, source: SOURCE })
    expect(JSON.parse(runProgram('drive.mjs', { SVC_URL: service.url }))).toEqual({ id: 'driven', picture_bytes: expect.any(Number) })
    expect((await service.request('GET', '/svc/pipeline/driven')).status).toBe(404)
  })

  it('follows a service in the example follow.mjs, also after the service was restarted', async () => {
    const service = await startService()
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
    const says = (wanted: string) => expect.poll(() => text, { timeout: 30_000 }).toContain(wanted)
    await createPipeline(service, 'first', { on_demand: true })
    await says('first ready')
    await service.stop()
    await says('lost, again in')
    const again = await startService({ dataDir: service.dataDir, env: { SVC_PORT: new URL(service.url).port } })
    await createPipeline(again, 'second', { on_demand: true })
    await says('second ready')
    child.kill('SIGTERM')
    expect(await exited).toEqual([0, null])
  })

  const chromium = useChromium()
  it('follows the service in a page at an origin of its own, as the example page.html does', async () => {
    const files: Readonly<Record<string, readonly [type: string, file: string]>> = {
      '/': ['text/html', join(FIXTURES, 'page.html')],
      '/client.js': ['text/javascript', join(project, 'node_modules/video-pipeline-service/dist/client.js')],
    }
    const { url: origin } = await startHttpServer(({ url = '' }, response) => {
      const [type, file] = files[new URL(url, 'http://site').pathname] ?? []
      response.writeHead(file === undefined ? 404 : 200, { 'content-type': type ?? 'text/plain' })
      response.end(file === undefined ? '' : readFileSync(file))
    })
    const service = await startService({ env: { SVC_CORS_ORIGINS: origin, SVC_PASSWORD: 'correct horse' } })
    const headers = { 'x-api-key': keyOf(service) }
    const body = { id: 'gate', mode: 'simple', source: SOURCE }
    expect((await service.request('POST', '/svc/pipeline', body, headers)).status).toBe(201)
    const { page, shows } = await chromium.open({ at: `${origin}/?service=${service.url}&password=correct%20horse` })
    await shows('gate playing')
    await service.request('PUT', '/svc/pipeline/gate/stop', undefined, headers)
    await shows('gate ready')
    expect(await page.locator('#picture').evaluate((image: HTMLImageElement) => image.decode().then(() => image.naturalWidth))).toBe(160)
    expect(await page.locator('#fault').textContent()).toBe('')
    await page.goto(`${origin}/?service=${service.url}&password=wrong`)
    await shows('VALIDATION_ERROR')
  })
})

describe('the embedded service', () => {
  const dataDir = (): string => {
    const folder = temporaryDataDir()
    givePluginList(folder)
    return folder
  }

  /** Runs an example until it listens; it ends with the test. */
  const start = async (example: string) => {
    const child = spawn(process.execPath, [join(project, example)], {
      cwd: project,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, PORT: '0', SVC_DATA_DIR: dataDir(), SVC_LOG_LEVEL: 'error' },
    })
    let complaints = ''
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      complaints += text
    })
    const exited = once(child, 'exit')
    onTestFinished(() => void child.kill('SIGKILL'))
    const failed = exited.then(() => expect.fail(complaints))
    const [line] = (await Promise.race([once(child.stdout.setEncoding('utf8'), 'data'), failed])) as [string]
    const url = line.trim().replace('listening at ', '')
    const read = async (path: string) => (await fetch(`${url}${path}`)).json()
    const expectEnds = async () => {
      child.kill('SIGTERM')
      expect(await exited).toEqual([0, null])
    }
    return { url, read, expectEnds }
  }

  it('runs in Fastify under a prefix, behind the authentication of the application', async () => {
    const { url, read, expectEnds } = await start('in-fastify.mjs')
    expect((await fetch(`${url}/video/svc/pipeline`)).status).toBe(403)
    expect(await read('')).toEqual({ application: 'an application of its own' })
    const driven = JSON.parse(runProgram('drive.mjs', { SVC_URL: `${url}/video`, COOKIE: 'session=alice' }))
    expect(driven).toEqual({ id: 'driven', picture_bytes: expect.any(Number) })
    await expectEnds()
  })

  it('serves only the chosen endpoint groups in a plain HTTP server', async () => {
    const { url, read, expectEnds } = await start('bare-server.mjs')
    expect(await read('/svc/health')).toMatchObject({ status: 'ok' })
    const body = JSON.stringify({ id: 'one', mode: 'simple', source: SOURCE })
    expect(await (await fetch(`${url}/svc/pipeline`, { method: 'POST', body })).json()).toMatchObject({ state: 'playing' })
    expect(await read('/svc/pipeline/nobody')).toMatchObject({ code: 'NOT_FOUND' })
    expect((await fetch(`${url}/svc/settings`)).status).toBe(404)
    await expectEnds()
  })

  it('serves the whole API as documented', async () => {
    const listen = "listen(0, '127.0.0.1', function () { console.log('http://127.0.0.1:' + this.address().port) })"
    const adapted = documented('## The service in your server')
      .replace("'./data'", 'process.env.SVC_DATA_DIR')
      .replace("listen(8080, '127.0.0.1')", listen)
    writeFileSync(join(project, 'documented.mjs'), adapted)
    const { read, expectEnds } = await start('documented.mjs')
    expect(await read('/svc/health')).toMatchObject({ status: 'ok' })
    expect(await read('/svc/settings')).toHaveProperty('start_timeout_seconds')
    await expectEnds()
  })

  it('runs inside of the program in-process.mjs', () => {
    const env = { SVC_DATA_DIR: dataDir(), SVC_LOG_LEVEL: 'error', SVC_OUTPUT_PORTS: '11350-11359' }
    const output = expect.stringContaining('/inside')
    expect(JSON.parse(runProgram('in-process.mjs', env))).toEqual({ state: 'playing', output, event: 'pipeline_status' })
  })
})
