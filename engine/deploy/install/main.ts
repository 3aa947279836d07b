import { randomBytes } from 'node:crypto'
import { realpathSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { conflicts, runSteps, type Step } from './steps.ts'
import { apiEnvironment, apiUnit, engineEnvironment, engineUnit, LAYOUT, type Program } from './units.ts'

/** sysexits.h: EX_USAGE, EX_OSERR, EX_CANTCREAT, EX_NOPERM. */
const EXIT = { usage: 64, failed: 71, exists: 73, permission: 77 } as const

const { apiUser, engineUser, formerUser, deviceGroups, configuration, state, units } = LAYOUT
const UNITS = [LAYOUT.engineUnit, LAYOUT.apiUnit] as const

const secret = (): string => randomBytes(32).toString('base64url')

/** `units`: left out by a package of the distribution, which has them as files. */
const installSteps = (program: Program, { units: hasUnits }: { readonly units: boolean }): readonly Step[] => {
  const engineToken = secret()
  const apiKey = secret()
  const secretFile = { kind: 'file', mode: 0o600, keep: true } as const
  return [
    // Systemd starts no unit with a group that does not exist, and a host without udev has no group render.
    ...deviceGroups.map((group): Step => ({ kind: 'run', command: ['groupadd', '--system', group], unless: ['getent', 'group', group] })),
    ...[apiUser, engineUser].map(
      (user): Step => ({
        kind: 'run',
        command: ['useradd', '--system', '--user-group', '--home-dir', state, '--shell', '/usr/sbin/nologin', user],
        unless: ['id', user],
      }),
    ),
    { kind: 'directory', path: configuration, mode: 0o755 },
    { kind: 'directory', path: state, mode: 0o711 },
    { kind: 'directory', path: `${state}/api`, mode: 0o700 },
    { kind: 'directory', path: `${state}/engine`, mode: 0o700 },
    // Also for the data of an installation where API and engine were one user.
    { kind: 'run', command: ['chown', 'root:root', state] },
    { kind: 'run', command: ['chmod', '0711', state] },
    { kind: 'run', command: ['chown', '-R', `${apiUser}:${apiUser}`, `${state}/api`] },
    { kind: 'run', command: ['chown', '-R', `${engineUser}:${engineUser}`, `${state}/engine`] },
    { ...secretFile, path: `${configuration}/api.env`, text: () => apiEnvironment(apiKey, engineToken) },
    { ...secretFile, path: `${configuration}/engine.env`, text: () => engineEnvironment(engineToken) },
    ...(hasUnits ? unitSteps(program) : []),
  ]
}

const unitSteps = (program: Program): readonly Step[] => {
  const unitFile = { kind: 'file', mode: 0o644, keep: false } as const
  return [
    { ...unitFile, path: join(units, LAYOUT.engineUnit), text: () => engineUnit(program) },
    { ...unitFile, path: join(units, LAYOUT.apiUnit), text: () => apiUnit(program) },
    { kind: 'run', command: ['systemd-analyze', 'verify', ...UNITS.map((name) => join(units, name))], mayFail: true },
    { kind: 'run', command: ['systemctl', 'daemon-reload'], mayFail: true },
  ]
}

const uninstallSteps = (purge: boolean): readonly Step[] => [
  { kind: 'run', command: ['systemctl', 'disable', '--now', ...UNITS], mayFail: true },
  ...UNITS.map((name): Step => ({ kind: 'remove', path: join(units, name) })),
  { kind: 'run', command: ['systemctl', 'daemon-reload'], mayFail: true },
  ...(purge
    ? ([
        ...UNITS.map((name) => ({ kind: 'remove', path: join(units, `${name}.previous`) }) as const),
        { kind: 'remove', path: configuration },
        { kind: 'remove', path: state },
        ...[apiUser, engineUser, formerUser].map((user): Step => ({ kind: 'run', command: ['userdel', user], mayFail: true })),
      ] satisfies readonly Step[])
    : []),
]

const fail = (code: number, line: string): never => {
  process.stderr.write(`video-pipeline-service: ${line}\n`)
  process.exit(code)
}

const readOptions = () => {
  try {
    return parseArgs({
      allowPositionals: true,
      options: {
        'dry-run': { type: 'boolean', default: false },
        force: { type: 'boolean', default: false },
        purge: { type: 'boolean', default: false },
        root: { type: 'string', default: '/' },
        'without-units': { type: 'boolean', default: false },
      },
    })
  } catch (error) {
    return fail(EXIT.usage, error instanceof Error ? error.message : String(error))
  }
}

const main = (): void => {
  const { values, positionals } = readOptions()
  const options = {
    root: values.root,
    dryRun: values['dry-run'],
    force: values.force,
    print: (line: string): void => void process.stdout.write(`${line}\n`),
  }
  if (!options.dryRun && options.root === '/' && process.getuid?.() !== 0)
    fail(EXIT.permission, 'root privileges are required; run it with sudo, or use --dry-run')
  const program = { node: realpathSync(process.execPath), entry: fileURLToPath(new URL('./cli.js', import.meta.url)) }
  const isInstall = positionals[0] === 'install'
  const steps = isInstall ? installSteps(program, { units: !values['without-units'] }) : uninstallSteps(values.purge)
  const different = conflicts(steps, options)
  if (different.length > 0 && !options.dryRun) {
    fail(
      EXIT.exists,
      `these files exist and differ from those of this version: ${different.join(', ')}. Nothing was changed; use --force to replace them and keep the old ones as .previous`,
    )
  }
  for (const path of different) options.print(`conflict: ${path} exists and differs; use --force to replace it`)
  try {
    runSteps(steps, options)
  } catch (error) {
    fail(EXIT.failed, `${error instanceof Error ? error.message : String(error)}. Correct this and run it again; completed steps are kept`)
  }
  if (isInstall && !values['without-units']) {
    options.print(
      `next: systemctl enable ${UNITS.join(' ')}; systemctl restart ${UNITS.join(' ')}; the API key is in ${configuration}/api.env`,
    )
  } else if (!isInstall && !values.purge) options.print(`kept: ${configuration} and ${state}; use --purge to remove them`)
}

main()
