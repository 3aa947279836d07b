import { spawn } from 'node:child_process'
import { createRequire } from 'node:module'
import { constants } from 'node:os'
import { fileURLToPath } from 'node:url'
import { helpRows } from '../../lib/console/help-rows.ts'
import { nearest } from '../../lib/console/nearest.ts'
import { ENGINE_OPTIONS } from '../../lib/engine/program-options.ts'
import {
  HOST_COMMANDS,
  type HostCommand,
  type HostCommandName,
  isHostCommand,
  isVerb,
  synopsis,
  VERBS,
  type VerbName,
} from './command-line/verbs.ts'

/** A bundle in the same directory. */
const bundle = (name: string): Promise<unknown> => import(new URL(`./${name}.js`, import.meta.url).href)

/** The bundle of each command, which parses the rest of the command line. */
const BUNDLES = {
  serve: 'node',
  engine: 'engine',
  doctor: 'doctor',
  openapi: 'openapi',
  install: 'install',
  uninstall: 'install',
  completion: 'verbs',
} as const satisfies Readonly<Record<HostCommandName, string>>

const bundleOf = (name: string): string | undefined => {
  if (isVerb(name) || name === '__complete') return 'verbs'
  return isHostCommand(name) ? BUNDLES[name] : undefined
}

const OLDEST_NODE = 24
/** EX_USAGE of sysexits.h. */
const EXIT_USAGE = 64

const usage = (): string => {
  const hosts = Object.entries(HOST_COMMANDS).map(([name, { about }]) => [name, about] as const)
  const verbs = (Object.keys(VERBS) as VerbName[]).map((name) => [synopsis(name), VERBS[name].about] as const)
  return [
    'usage: video-pipeline-service COMMAND [options]',
    '',
    'Run and prepare a service (the default command is serve):',
    ...helpRows(hosts),
    '',
    'Use the service at --url or SVC_URL:',
    ...helpRows(verbs),
    '',
    'COMMAND --help lists the options of a command, --version prints the version.',
    '',
  ].join('\n')
}

const usageOf = (name: HostCommandName): string => {
  const { about, needs, options }: HostCommand = HOST_COMMANDS[name]
  const words = ['usage: video-pipeline-service', name, needs, options && '[options]'].filter((word) => word !== undefined)
  return [words.join(' '), '', about, '', ...(options === undefined ? [] : [...helpRows(Object.entries(options)), ''])].join('\n')
}

/** Commands whose bundle checks the rest of the command line. */
const CHECKED_BY_BUNDLE: ReadonlySet<HostCommandName> = new Set(['serve', 'completion'])

/** The first unknown argument. */
const unknownArgument = (name: HostCommandName, args: readonly string[]): string | undefined => {
  const options = Object.keys((HOST_COMMANDS[name] as HostCommand).options ?? {}).map((option) => option.split(' '))
  return args.find((argument, at) => {
    const before = options.find(([option]) => option === args[at - 1])
    return before?.length !== 2 && !options.some(([option, value]) => argument === option || (value && argument.startsWith(`${option}=`)))
  })
}

const optionNames = (name: HostCommandName): readonly string[] =>
  Object.keys((HOST_COMMANDS[name] as HostCommand).options ?? {}).map((option) => option.split(' ', 1)[0] ?? '')

const adviceOn = (word: string, known: readonly string[]): string => {
  const meant = nearest(word, known)
  return meant === undefined ? 'use --help for a list' : `did you mean ${meant}?`
}

const asksForHelp = (args: readonly string[]): boolean => args.includes('--help') || args.includes('-h')

/** Node.js of the optional dependency, in case the running one is too old. */
const newerNode = (): string | undefined => {
  try {
    return createRequire(import.meta.url).resolve(`node-linux-${process.arch}/bin/node`)
  } catch {
    return undefined
  }
}

const runAgainWith = (node: string): void => {
  const child = spawn(node, [fileURLToPath(import.meta.url), ...process.argv.slice(2)], { stdio: 'inherit' })
  // A terminal signals both processes; the service treats several signals as one.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => child.kill(signal))
  child.once('exit', (code, signal) => process.exit(code ?? 128 + (signal === null ? 0 : constants.signals[signal])))
}

/** Replaces this process by one with the options that the engine needs. */
const execWithEngineOptions = (): void => {
  const { execArgv, execPath, argv } = process
  if (ENGINE_OPTIONS.every((option) => execArgv.includes(option))) return
  process.execve?.(execPath, [execPath, ...execArgv, ...ENGINE_OPTIONS, ...argv.slice(1)])
}

const main = async (): Promise<void> => {
  if (Number.parseInt(process.versions.node, 10) < OLDEST_NODE) {
    const node = newerNode()
    if (node !== undefined) return runAgainWith(node)
    process.stderr.write(`video-pipeline-service: Node.js ${process.versions.node} is too old; use ${OLDEST_NODE} or later\n`)
    process.exit(EXIT_USAGE)
  }
  // `help ls` is `ls --help`.
  if (process.argv[2] === 'help' && process.argv.length > 3) {
    process.argv.splice(2, 1)
    process.argv.push('--help')
  }
  const [name = 'serve'] = process.argv.slice(2)
  if (name === '--help' || name === '-h' || name === 'help') return void process.stdout.write(usage())
  const rest = process.argv.slice(3)
  if (isHostCommand(name) && name !== 'serve' && asksForHelp(rest)) return void process.stdout.write(usageOf(name))
  const unknown = isHostCommand(name) && !CHECKED_BY_BUNDLE.has(name) ? unknownArgument(name, rest) : undefined
  if (isHostCommand(name) && unknown !== undefined) {
    process.stderr.write(`video-pipeline-service ${name}: unknown argument ${unknown}; ${adviceOn(unknown, optionNames(name))}\n`)
    process.exit(EXIT_USAGE)
  }
  // Options without a command belong to serve.
  const isOption = name.startsWith('-')
  const found = bundleOf(isOption ? 'serve' : name)
  if (found === undefined) {
    const known = [...Object.keys(VERBS), ...Object.keys(HOST_COMMANDS)]
    process.stderr.write(`video-pipeline-service: unknown command ${name}; ${adviceOn(name, known)}\n`)
    process.exit(EXIT_USAGE)
  }
  if (found === 'engine') execWithEngineOptions()
  // Bundles with several commands need the name.
  if (!isOption && found !== 'verbs' && found !== 'install') process.argv.splice(2, 1)
  await bundle(found)
}

await main()
