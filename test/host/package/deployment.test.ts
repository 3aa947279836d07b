import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import systemPackages from '../../../engine/deploy/system-packages.json' with { type: 'json' }
import { CONFIGURATION_VARIABLES } from '../../../lib/configuration/configuration.ts'
import { startHttpServer } from '../../helpers/http-server.ts'
import { startService } from '../../helpers/process/service.ts'
import { temporaryDataDir } from '../../helpers/process/temporary-data-dir.ts'
import { createPipeline } from '../../helpers/service/pipelines.ts'

const ROOT = resolve(import.meta.dirname, '../../..')
const DOCKERFILE = readFileSync(join(ROOT, 'engine/deploy/Dockerfile'), 'utf8')

/** The groups of a new Debian system, name to number, as the package base-passwd creates them. */
const DEBIAN_GROUPS = new Map(
  readFileSync('/usr/share/base-passwd/group.master', 'utf8')
    .split('\n')
    .map((line) => line.split(':'))
    .map(([name = '', , gid = '']) => [name, Number(gid)]),
)

/** Lines that a backslash continues as one; comments left out. */
const INSTRUCTIONS = DOCKERFILE.replace(/^#.*\n/gm, '')
  .replace(/\\\n/g, ' ')
  .split('\n')
  .filter((line) => line.trim() !== '')

describe('the container image', () => {
  it('copies only existing files, and runs unprivileged with a health check', () => {
    const sources = INSTRUCTIONS.filter((line) => /^COPY (?!--from)/.test(line)).flatMap((line) => line.split(/\s+/).slice(1, -1))
    expect(sources.length).toBeGreaterThan(5)
    expect(sources.filter((source) => !existsSync(join(ROOT, source)))).toEqual([])
    const ignored = readFileSync(join(ROOT, 'engine/deploy/Dockerfile.dockerignore'), 'utf8')
    expect(sources.filter((source) => !ignored.split('\n').includes(`!${source}`))).toEqual([])
    expect(INSTRUCTIONS.filter((line) => /^(USER|HEALTHCHECK)/.test(line))).toEqual([
      'USER 10001:10001',
      expect.stringContaining('/svc/healthz'),
    ])
  })

  it('reaps what others leave, as the first process has to', () => {
    expect(INSTRUCTIONS.find((line) => line.startsWith('ENTRYPOINT'))).toMatch(/^ENTRYPOINT \["tini", "--", "node", /)
    expect(INSTRUCTIONS.find((line) => line.includes('apt-get install'))).toMatch(/ tini /)
  })

  it.each(['0.0.0.0', '127.0.0.1'])('is healthy where it listens at %s', async (host) => {
    const { port } = new URL((await startHttpServer((_request, response) => response.end())).url)
    const [, command = '[]'] = /^HEALTHCHECK .*CMD (.*)$/.exec(INSTRUCTIONS.find((line) => line.startsWith('HEALTHCHECK')) ?? '') ?? []
    const [, ...args] = JSON.parse(command) as string[]
    const check = (at: string) => spawn(process.execPath, args, { stdio: 'ignore', env: { SVC_HOST: at, SVC_PORT: port } })
    expect(await once(check(host), 'exit')).toEqual([0, null])
    expect(await once(check('127.0.0.9'), 'exit')).toEqual([1, null])
  })

  it('starts no API that is open to other hosts, alone or in Kubernetes', () => {
    const environment = INSTRUCTIONS.filter((line) => /^ENV /.test(line)).join(' ')
    expect(environment).toContain('SVC_HOST=0.0.0.0')
    expect(environment).toContain('SVC_REQUIRE_PASSWORD=1')
    const set = readFileSync(join(ROOT, 'engine/deploy/kubernetes/stateful-set.yaml'), 'utf8')
    const [engine = '', api = ''] = set.slice(set.indexOf('- name: engine'), set.indexOf('      volumes:')).split('- name: api\n')
    expect(api).toMatch(/name: SVC_PASSWORD\s+valueFrom:\s+secretKeyRef: \{ name: video-pipeline, key: password \}/)
    expect([...engine.matchAll(/subPath: (\w+)/g)].map(([, part]) => part)).toEqual(['engine', 'engine'])
    expect([...api.matchAll(/subPath: (\w+)/g)].map(([, part]) => part)).toEqual(['api', 'api'])
    const secret = readFileSync(join(ROOT, 'engine/deploy/kubernetes/kustomization.yaml'), 'utf8')
    expect(secret).toContain('--from-literal=password=')
  })

  it('has every Debian package that the set-up requires, and the drivers without which VA-API has no encoder', () => {
    const needed = Object.keys({ ...systemPackages.required, ...systemPackages.recommended })
    const installed = (INSTRUCTIONS.find((line) => line.includes('apt-get install')) ?? '').split(/\s+/)
    expect(needed.length).toBeGreaterThan(7)
    expect([...needed, 'va-driver-all'].filter((name) => !installed.includes(String(name)))).toEqual([])
  })

  it('names only groups that Debian or the image itself creates', () => {
    const text = INSTRUCTIONS.join('\n')
    const names = [
      ...[...text.matchAll(/useradd[^&]*--groups (\S+)/g)].flatMap(([, list = '']) => list.split(',')),
      ...[...text.matchAll(/(?:install|chown)[^&]* -g (\S+)/g)].map(([, name = '']) => name),
    ]
    const created = [...text.matchAll(/groupadd[^&]* (\S+)\s*(?:&&|$)/gm)].map(([, name = '']) => name)
    expect(names.length).toBeGreaterThan(0)
    expect(names.filter((name) => !created.includes(name) && !DEBIAN_GROUPS.has(name))).toEqual([])
    for (const document of [DOCKERFILE, readFileSync(join(ROOT, 'docs/deployment.md'), 'utf8')]) {
      const added = [...document.matchAll(/--group-add ("\$\(([^)]+)\)"|\S+)/g)]
      expect(added.length).toBeGreaterThan(1)
      // Docker looks a name up in the image; a number is that of the host's group.
      for (const [option, , command] of added) {
        expect(command, option).toMatch(/^getent group (video|render) \| cut -d: -f3$/)
        const { status } = spawnSync('sh', ['-c', String(command).replace('render', 'video')], { encoding: 'utf8' })
        expect(status).toBe(0)
      }
    }
    expect(spawnSync('sh', ['-c', 'getent group video | cut -d: -f3'], { encoding: 'utf8' }).stdout).toMatch(/^\d+\n$/)
  })

  it('holds all that the service loads: laid out as the image has it, it serves and plays', async () => {
    const image = mkdtempSync(join(tmpdir(), 'image-'))
    onTestFinished(() => rmSync(image, { recursive: true, force: true }))
    const [, script = ''] = /^RUN .*&& node (\S+) \/app$/.exec(INSTRUCTIONS.find((line) => line.includes(' /app')) ?? '') ?? []
    execFileSync(process.execPath, [script, image], { cwd: ROOT })
    const service = await startService({ entry: join(image, 'dist/node.js'), env: { SVC_PROFILE: 'docs', SVC_DOCS_PORT: '0' } })
    await createPipeline(service, 'boxed', { source: { uri: 'test://ball?width=320&height=240' } })
    expect((await service.request('PUT', '/svc/auth/password', { password: 'correct horse battery' })).status).toBe(200)
    expect(await service.stop()).toBe(0)
  })
})

describe('the Debian package', () => {
  it('has a service that runs, units that systemd accepts, and scripts that sh can read', () => {
    const root = mkdtempSync(join(tmpdir(), 'deb-'))
    onTestFinished(() => rmSync(root, { recursive: true, force: true }))
    execFileSync(process.execPath, [join(ROOT, 'engine/deploy/package/deb.ts'), '--stage', root])
    const installed = join(root, 'usr/lib/video-pipeline-service')
    expect(execFileSync(join(installed, 'bin/node'), [join(installed, 'dist/cli.js'), '--version'], { encoding: 'utf8' })).toMatch(/^\d/)
    for (const name of ['postinst', 'prerm', 'postrm']) execFileSync('sh', ['-n', join(root, 'DEBIAN', name)])
    for (const name of ['engine', 'api']) {
      const unit = readFileSync(join(root, `lib/systemd/system/video-pipeline-${name}.service`), 'utf8')
      const [, node = '', entry = ''] = /^ExecStart="([^"]+)" "([^"]+)"/m.exec(unit) ?? []
      expect([node, entry].map((path) => existsSync(join(root, path)))).toEqual([true, true])
    }
    expect(execFileSync('dpkg-deb', ['--root-owner-group', '-Znone', '--build', root, `${root}.deb`], { encoding: 'utf8' })).toContain(
      'building',
    )
    rmSync(`${root}.deb`)
  })
})

describe('the Kubernetes manifests', () => {
  const FOLDER = join(ROOT, 'engine/deploy/kubernetes')
  const THIRD_PARTY = join(ROOT, 'test/fixtures/third-party/node_modules')
  const { parse } = createRequire(import.meta.url)(join(THIRD_PARTY, 'yaml')) as { parse: (text: string, options: object) => unknown }
  const manifest = (name: string): unknown => parse(readFileSync(join(FOLDER, name), 'utf8'), { merge: true })
  type Model = new (manifest: unknown) => { validate(): void }

  it.each([
    ['stateful-set.yaml', 'apps/v1/StatefulSet.js', 'StatefulSet'],
    ['service.yaml', 'v1/Service.js', 'Service'],
  ])('contain a valid %s', async (file, module, kind) => {
    // Modules of another project, so they are named by their place.
    const Kind = ((await import(join(THIRD_PARTY, 'kubernetes-models', module))) as Record<string, Model>)[kind]
    if (Kind === undefined) throw new Error(`no model of ${kind}`)
    expect(() => new Kind(manifest(file)).validate()).not.toThrow()
    expect(() => new Kind({ ...(manifest(file) as object), metadata: { name: 5 } }).validate()).toThrow()
  })

  it('give the pods only groups that have the same number on every Debian host, and show how to add another', () => {
    const kustomization = readFileSync(join(FOLDER, 'kustomization.yaml'), 'utf8')
    const commented = kustomization.slice(kustomization.indexOf('# patches:'))
    const { patches } = parse(commented.replace(/^# /gm, ''), {}) as { patches: readonly { patch: string }[] }
    const [operation] = parse(patches[0]?.patch ?? '', {}) as readonly { op: string; path: string; value: unknown }[]
    const steps = operation?.path.split('/').slice(1, -1) ?? []
    const groups = steps.reduce<unknown>((at, name) => (at as Record<string, unknown>)[name], manifest('stateful-set.yaml'))
    expect([operation?.op, operation?.path.endsWith('/-'), typeof operation?.value]).toEqual(['add', true, 'number'])
    const numbers = new Set(DEBIAN_GROUPS.values())
    expect((groups as readonly number[]).filter((gid) => !numbers.has(gid))).toEqual([])
  })

  it('name existing files, known variables and a health endpoint that exists', () => {
    const { resources } = manifest('kustomization.yaml') as { resources: readonly string[] }
    expect(resources.filter((name) => !existsSync(join(FOLDER, name)))).toEqual([])
    const text = readFileSync(join(FOLDER, 'stateful-set.yaml'), 'utf8')
    const known = new Set(CONFIGURATION_VARIABLES.map(({ name }) => name))
    expect([...text.matchAll(/name: (SVC_\w+)/g)].map(([, name = '']) => name).filter((name) => !known.has(name))).toEqual([])
    expect(text.match(/path: \/svc\/healthz/g)).toHaveLength(3)
  })
})

describe('the set-up', () => {
  /** Set-up on a host that has these programs, and neither apt-get nor sudo. */
  const setUp = (programs: readonly string[]) => {
    const path = temporaryDataDir()
    for (const program of ['sleep', ...programs]) symlinkSync(`/usr/bin/${program}`, join(path, program))
    const script = join(ROOT, 'engine/deploy/setup.mjs')
    const { status, stderr } = spawnSync(process.execPath, [script], { env: { PATH: path }, encoding: 'utf8' })
    return [status, stderr.trim()]
  }

  it('goes on without packages that are recommended, and stops without those that are required', () => {
    const byHand = (name: string) => expect.stringContaining(`sudo apt-get install -y --no-install-recommends ${name}`)
    const recommended = ['gst-device-monitor-1.0', 'v4l2-ctl']
    expect(setUp(['gst-launch-1.0', 'setpriv', ...recommended])).toEqual([0, byHand('bubblewrap')])
    expect(setUp(['bwrap', 'setpriv', ...recommended])).toEqual([1, byHand('gstreamer1.0-tools')])
  })
})
