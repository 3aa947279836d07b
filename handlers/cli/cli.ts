import { spawn } from 'node:child_process'
import { createRequire } from 'node:module'
import { constants } from 'node:os'
import { fileURLToPath } from 'node:url'

/** A bundle in the same directory. */
const bundle = (name: string): Promise<unknown> => import(new URL(`./${name}.js`, import.meta.url).href)

/** The commands; each parses the rest of the command line itself. */
const COMMANDS: Readonly<Record<string, { readonly about: string; readonly run: () => Promise<unknown> }>> = {
  serve: {
    about: 'run the API, with its own engine unless SVC_ENGINE_URL is set (--help lists the variables)',
    run: () => bundle('node'),
  },
  engine: { about: 'run a stand-alone engine at SVC_ENGINE_LISTEN with SVC_ENGINE_TOKEN', run: () => bundle('engine') },
  doctor: { about: 'check this host: encoders, cameras, missing software [--json]', run: () => bundle('doctor') },
  openapi: { about: 'print the OpenAPI document as JSON', run: () => bundle('openapi') },
  install: { about: 'create user, directories, keys and systemd units [--dry-run] [--force] [--root DIR]', run: () => bundle('install') },
  uninstall: { about: 'remove the systemd units, with --purge also the data [--dry-run] [--root DIR]', run: () => bundle('install') },
}

const OLDEST_NODE = 24
/** EX_USAGE of sysexits.h. */
const EXIT_USAGE = 64

const usage = (): string => {
  const lines = Object.entries(COMMANDS).map(([name, { about }]) => `  ${name.padEnd(10)} ${about}`)
  return ['usage: video-pipeline-service <command>', '', ...lines, '', 'The default command is serve.', ''].join('\n')
}

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

const main = async (): Promise<void> => {
  if (Number.parseInt(process.versions.node, 10) < OLDEST_NODE) {
    const node = newerNode()
    if (node !== undefined) return runAgainWith(node)
    process.stderr.write(`video-pipeline-service: this is Node.js ${process.versions.node}; use ${OLDEST_NODE} or later\n`)
    process.exit(EXIT_USAGE)
  }
  const [name = 'serve'] = process.argv.slice(2)
  if (name === '--help' || name === '-h' || name === 'help') return void process.stdout.write(usage())
  // Options without a command belong to serve.
  const command = COMMANDS[name.startsWith('-') ? 'serve' : name]
  if (command === undefined) {
    process.stderr.write(`video-pipeline-service: unknown command ${name}\n${usage()}`)
    process.exit(EXIT_USAGE)
  }
  if (command === COMMANDS[name] && name !== 'install' && name !== 'uninstall') process.argv.splice(2, 1)
  await command.run()
}

await main()
