import { spawn } from 'node:child_process'
import { createRequire } from 'node:module'
import { constants } from 'node:os'
import { fileURLToPath } from 'node:url'
import { ENGINE_OPTIONS } from '../../lib/engine/program-options.ts'
import { HOST_COMMANDS, isVerb, synopsis, VERBS, type VerbName } from './command-line/verbs.ts'

/** A bundle in the same directory. */
const bundle = (name: string): Promise<unknown> => import(new URL(`./${name}.js`, import.meta.url).href)

/** The bundle that a command is in; each parses the rest of the command line itself. */
const BUNDLES = {
  serve: 'node',
  engine: 'engine',
  doctor: 'doctor',
  openapi: 'openapi',
  install: 'install',
  uninstall: 'install',
  completion: 'verbs',
} as const satisfies Readonly<Record<keyof typeof HOST_COMMANDS, string>>

const bundleOf = (name: string): string | undefined => {
  if (isVerb(name) || name === '__complete') return 'verbs'
  return Object.hasOwn(BUNDLES, name) ? BUNDLES[name as keyof typeof BUNDLES] : undefined
}

const OLDEST_NODE = 24
/** EX_USAGE of sysexits.h. */
const EXIT_USAGE = 64

const usage = (): string => {
  const hosts = Object.entries(HOST_COMMANDS)
  const verbs = (Object.keys(VERBS) as VerbName[]).map((name) => [synopsis(name), VERBS[name].about] as const)
  const width = Math.max(...[...hosts, ...verbs].map(([name]) => name.length))
  const lines = (rows: readonly (readonly [string, string])[]): readonly string[] =>
    rows.map(([name, about]) => `  ${name.padEnd(width)}  ${about}`)
  return [
    'usage: video-pipeline-service <command>',
    '',
    'Run and prepare a service (the default command is serve):',
    ...lines(hosts),
    '',
    'Use a running service (--url or SVC_URL, --api-key or SVC_API_KEY, --json; --help for more):',
    ...lines(verbs),
    '',
  ].join('\n')
}

type HostCommand = keyof typeof HOST_COMMANDS

const isHostCommand = (name: string): name is HostCommand => Object.hasOwn(HOST_COMMANDS, name)

/** What may follow the commands that read nothing of the command line themselves. */
const FLAGS: Readonly<Partial<Record<HostCommand, readonly string[]>>> = { engine: [], doctor: ['--json'], openapi: [] }

const asksForHelp = (args: readonly string[]): boolean => args.includes('--help') || args.includes('-h')

/** The Node of the optional package dependency, for when the running one is too old. */
const newerNode = (): string | undefined => {
  try {
    return createRequire(import.meta.url).resolve(`node-linux-${process.arch}/bin/node`)
  } catch {
    return undefined
  }
}

const runAgainWith = (node: string): void => {
  const child = spawn(node, [fileURLToPath(import.meta.url), ...process.argv.slice(2)], { stdio: 'inherit' })
  // A terminal sends its own to both: the service takes several for one.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => child.kill(signal))
  child.once('exit', (code, signal) => process.exit(code ?? 128 + (signal === null ? 0 : constants.signals[signal])))
}

/** This process begins anew, with the options that the engine needs. */
const becomeEngine = (): void => {
  const { execArgv, execPath, argv } = process
  if (ENGINE_OPTIONS.every((option) => execArgv.includes(option))) return
  process.execve?.(execPath, [execPath, ...execArgv, ...ENGINE_OPTIONS, ...argv.slice(1)])
}

const main = async (): Promise<void> => {
  if (Number.parseInt(process.versions.node, 10) < OLDEST_NODE) {
    const node = newerNode()
    if (node !== undefined) return runAgainWith(node)
    process.stderr.write(`video-pipeline-service: this is Node.js ${process.versions.node}; use ${OLDEST_NODE} or later\n`)
    process.exit(EXIT_USAGE)
  }
  const [name = 'serve'] = process.argv.slice(2)
  if (name === '--help' || name === '-h' || name === 'help') return void process.stdout.write(usage())
  const rest = process.argv.slice(3)
  if (isHostCommand(name) && name !== 'serve' && asksForHelp(rest))
    return void process.stdout.write(`usage: video-pipeline-service ${name}\n\n  ${HOST_COMMANDS[name]}\n`)
  const unknown = isHostCommand(name) ? rest.find((argument) => FLAGS[name]?.includes(argument) === false) : undefined
  if (unknown !== undefined) {
    process.stderr.write(`video-pipeline-service ${name}: unknown argument ${unknown}; use --help for a list\n`)
    process.exit(EXIT_USAGE)
  }
  // Options without a command belong to serve.
  const isOption = name.startsWith('-')
  const found = bundleOf(isOption ? 'serve' : name)
  if (found === undefined) {
    process.stderr.write(`video-pipeline-service: unknown command ${name}\n${usage()}`)
    process.exit(EXIT_USAGE)
  }
  if (found === 'engine') becomeEngine()
  // Those that are several commands in one look at the name.
  if (!isOption && found !== 'verbs' && found !== 'install') process.argv.splice(2, 1)
  await bundle(found)
}

await main()
