import { execFileSync } from 'node:child_process'
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { codeBlocks, readDocument, section } from '../helpers/documents.ts'
import { startService } from '../helpers/process/service.ts'

const ROOT = resolve(import.meta.dirname, '../..')
const THIRD_PARTY = join(ROOT, 'test/fixtures/third-party/node_modules')
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
  copyFileSync(join(ROOT, `test/fixtures/embedding/${PROGRAM}.txt`), join(project, PROGRAM))
}, 120_000)

afterAll(() => rmSync(project, { recursive: true, force: true }))

const link = (from: string, name: string): void => {
  const target = join(project, 'node_modules', name)
  mkdirSync(dirname(target), { recursive: true })
  symlinkSync(join(from, name), target)
}

const compile = (compiler: string, options: Record<string, unknown>): string => {
  const compilerOptions = {
    strict: true,
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
    verbatimModuleSyntax: true,
    noEmit: true,
    target: 'es2022',
    ...options,
  }
  writeFileSync(join(project, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: [PROGRAM] }))
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

  it('calls every operation of a running service', async () => {
    const port = 12_000 + ((process.pid * 7) % 20_000)
    const service = await startService({ env: { SVC_OUTPUT_PORTS: String(port), SVC_MEDIA_SERVER: `127.0.0.1:${port}` } })
    onTestFinished(() => service.stop().then(() => {}))
    const output = execFileSync(process.execPath, [join(project, PROGRAM)], {
      env: { ...process.env, SVC_URL: service.url, SVC_API_KEY: readFileSync(join(service.dataDir, 'api-key'), 'utf8').trim() },
    })
    expect(JSON.parse(output.toString())).toEqual([])
  }, 120_000)

  it('does what the README shows', async () => {
    const service = await startService()
    onTestFinished(() => service.stop().then(() => {}))
    const [example = ''] = codeBlocks(section(readDocument('README.md'), '## Client'), 'js')
    writeFileSync(join(project, 'readme.mjs'), example.replace('http://127.0.0.1:8080', service.url))
    const output = execFileSync(process.execPath, [join(project, 'readme.mjs')])
    expect(output.toString()).toMatch(/^image\/jpeg\n409 CONFLICT .*porch/)
  })
})
