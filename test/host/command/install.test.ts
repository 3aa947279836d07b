import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { temporaryDataDir } from '../../helpers/process/temporary-data-dir.ts'

const run = (args: readonly string[]) =>
  spawnSync(process.execPath, [resolve(import.meta.dirname, '../../../dist/cli.js'), ...args], { encoding: 'utf8' })

const [API_ENV, ENGINE_ENV] = ['etc/video-pipeline-service/api.env', 'etc/video-pipeline-service/engine.env']
const [ENGINE_UNIT, API_UNIT] = ['etc/systemd/system/video-pipeline-engine.service', 'etc/systemd/system/video-pipeline-api.service']

describe('video-pipeline-service install', () => {
  let root: string
  let printed: string
  const inRoot = (file: string) => readFileSync(join(root, file), 'utf8')
  const variables = (text: string): Record<string, string> =>
    Object.fromEntries([...text.matchAll(/^(\w+)=(.*)$/gm)].map(([, name = '', value = '']) => [name, value]))
  const installed = () => {
    const folder = mkdtempSync(join(tmpdir(), 'cli-'))
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    run(['install', '--root', folder])
    return folder
  }

  beforeAll(() => {
    root = mkdtempSync(join(tmpdir(), 'cli-'))
    const { status, stdout, stderr } = run(['install', '--root', root])
    expect([status, stderr]).toEqual([0, ''])
    printed = stdout
  })
  afterAll(() => rmSync(root, { recursive: true, force: true }))

  it('writes random keys that only root can read, and units that systemd accepts', () => {
    for (const file of [API_ENV, ENGINE_ENV]) expect(statSync(join(root, file)).mode & 0o777).toBe(0o600)
    expect(statSync(join(root, 'var/lib/video-pipeline-service/engine')).mode & 0o777).toBe(0o700)
    const [api, engine] = [variables(inRoot(API_ENV)), variables(inRoot(ENGINE_ENV))]
    expect([api.SVC_API_KEY, api.SVC_ENGINE_TOKEN]).toEqual([expect.stringMatching(/^[\w-]{43}$/), engine.SVC_ENGINE_TOKEN])
    expect(api.SVC_API_KEY).not.toBe(variables(readFileSync(join(installed(), API_ENV), 'utf8')).SVC_API_KEY)
    const units = [ENGINE_UNIT, API_UNIT].map((file) => join(root, file))
    const verified = spawnSync('systemd-analyze', ['verify', '--man=no', ...units], { encoding: 'utf8' })
    expect([verified.status, verified.stderr.split('\n').filter((line) => line.includes('video-pipeline'))]).toEqual([0, []])
  })

  it('gives API and engine a user each, and their data to them', () => {
    const commands = [...printed.matchAll(/^not run, because of --root: (.+)$/gm)].map(([, command]) => command)
    expect(commands).toEqual(
      expect.arrayContaining([
        expect.stringMatching(/^useradd --system .* video-pipeline-api$/),
        expect.stringMatching(/^useradd --system .* video-pipeline-engine$/),
        'chown root:root /var/lib/video-pipeline-service',
        'chmod 0711 /var/lib/video-pipeline-service',
        'chown -R video-pipeline-api:video-pipeline-api /var/lib/video-pipeline-service/api',
        'chown -R video-pipeline-engine:video-pipeline-engine /var/lib/video-pipeline-service/engine',
      ]),
    )
    // systemd starts no unit with a group that does not exist.
    const groups = (/^SupplementaryGroups=(.+)$/m.exec(inRoot(ENGINE_UNIT))?.[1] ?? '').split(' ')
    expect(groups).toEqual(['video', 'render'])
    for (const group of groups) expect(commands).toContain(`groupadd --system ${group}`)
  })

  it('lets the engine make sandboxes and the API no namespace, and starts both again unless their configuration is wrong', () => {
    const [engine, api] = [inRoot(ENGINE_UNIT), inRoot(API_UNIT)]
    expect(engine).toMatch(/^User=video-pipeline-engine$/m)
    expect(engine).toMatch(/^RestrictNamespaces=user mnt pid /m)
    expect(engine).toMatch(/^SystemCallFilter=@system-service @mount$/m)
    // The kernel allows no new /proc where something is mounted over the present one.
    expect(engine).not.toMatch(/^(ProtectKernelTunables|ProtectKernelLogs|ProcSubset|PrivateUsers)=/m)
    expect(api).toMatch(/^User=video-pipeline-api$/m)
    expect(api).toMatch(/^RestrictNamespaces=yes$/m)
    for (const unit of [engine, api]) {
      expect(unit).toMatch(/^StartLimitIntervalSec=0$[\s\S]*^\[Service\]$/m)
      expect(unit).toMatch(/^StateDirectory=video-pipeline-service\/(api|engine)$/m)
      expect(unit).toMatch(/^Restart=on-failure$/m)
      expect(unit).toMatch(/^RestartPreventExitStatus=78$/m)
    }
  })

  it('does not overwrite a changed file; with --force it makes a backup, which uninstall --purge removes', () => {
    const folder = installed()
    const [unit, key] = [join(folder, API_UNIT), readFileSync(join(folder, API_ENV), 'utf8')]
    expect(run(['install', '--root', folder]).stdout).not.toMatch(/^(write|replace|create)/m)
    writeFileSync(unit, '# edited by hand\n')
    expect(run(['install', '--root', folder])).toMatchObject({ status: 73, stderr: expect.stringContaining('video-pipeline-api.service') })
    expect(readFileSync(unit, 'utf8')).toBe('# edited by hand\n')
    expect(run(['install', '--root', folder, '--force']).status).toBe(0)
    expect([readFileSync(`${unit}.previous`, 'utf8'), readFileSync(join(folder, API_ENV), 'utf8')]).toEqual(['# edited by hand\n', key])

    const files = () => spawnSync('find', [folder, '-type', 'f', '-printf', '%P\n'], { encoding: 'utf8' }).stdout.trim().split('\n').sort()
    expect(run(['uninstall', '--root', folder]).status).toBe(0)
    expect(files()).toEqual([`${API_UNIT}.previous`, API_ENV, ENGINE_ENV])
    run(['uninstall', '--purge', '--root', folder])
    expect(files()).toEqual([''])
  })

  it('says in one line which step failed, and changes nothing with --dry-run', () => {
    const folder = temporaryDataDir()
    const { status, stdout } = run(['install', '--dry-run', '--root', folder])
    expect([status, stdout]).toEqual([0, expect.stringContaining('would write /etc/video-pipeline-service/api.env (0600)')])
    expect(stdout).not.toMatch(/SVC_API_KEY=/)
    expect(spawnSync('find', [folder, '-mindepth', '1'], { encoding: 'utf8' }).stdout).toBe('')
    const file = join(folder, 'file')
    writeFileSync(file, '')
    const failed = run(['install', '--root', file])
    expect(failed.status).toBe(71)
    expect(failed.stderr).toMatch(/^video-pipeline-service: ENOTDIR: .*run it again; completed steps are kept\n$/)
  })
})
