import { printable, printableJson } from '../../lib/log/printable.ts'
import type { Client } from '../client/client.ts'
import { readArguments } from './command-line/arguments.ts'
import { COMPLETIONS, complete, serviceOptionsIn } from './command-line/completion.ts'
import { connect } from './command-line/connection.ts'
import { EXIT, errorFields, exitCodeOf, explain } from './command-line/exit.ts'
import { meantPipeline } from './command-line/meant-pipeline.ts'
import type { Run } from './command-line/session.ts'
import { HOST_COMMANDS, helpOf, isVerb, VERBS, type VerbName } from './command-line/verbs.ts'
import { wordOf } from './terminal/status.ts'
import { openTerminal } from './terminal/terminal.ts'
import { events } from './verbs/events.ts'
import { list } from './verbs/list.ts'
import { play, remove, stop } from './verbs/run.ts'
import { show } from './verbs/show.ts'
import { snapshot } from './verbs/snapshot.ts'

const RUNS: Readonly<Record<VerbName, () => Run | Promise<Run>>> = {
  ls: () => list,
  get: () => show,
  create: async () => (await import('./verbs/create.ts')).create,
  validate: async () => (await import('./verbs/validate.ts')).validate,
  apply: async () => (await import('./verbs/apply.ts')).apply,
  export: async () => (await import('./verbs/export.ts')).exportAll,
  play: () => play,
  stop: () => stop,
  delete: () => remove,
  events: () => events,
  logs: async () => (await import('./verbs/logs.ts')).logs,
  snapshot: () => snapshot,
  record: async () => (await import('./recordings/record.ts')).record,
  recordings: async () => (await import('./recordings/list-recordings.ts')).listRecordings,
  'export-recording': async () => (await import('./recordings/export-recording.ts')).exportRecording,
  verify: async () => (await import('./recordings/verify.ts')).verify,
  health: async () => (await import('./verbs/health.ts')).health,
  settings: async () => (await import('./verbs/settings.ts')).settings,
  fleet: async () => (await import('./fleet/fleet.ts')).fleet,
  password: async () => (await import('./verbs/password.ts')).password,
}

const main = async (verb: VerbName, args: readonly string[]): Promise<number> => {
  let url: URL | undefined
  let client: Client | undefined
  let isJson = args.includes('--json')
  try {
    const given = readArguments(verb, args)
    if (given.has('help')) {
      process.stdout.write(helpOf(verb))
      return EXIT.done
    }
    isJson = given.has('json')
    const connection = connect(given, process.env)
    url = connection.url
    client = connection.client
    const run = await RUNS[verb]()
    return await run({ ...connection, given, isJson, out: openTerminal(process.stdout, process.env), signal: interrupted() })
  } catch (error) {
    const text = isJson
      ? printableJson(errorFields(error, url))
      : `video-pipeline-service ${verb}: ${explain(error, url)}${await meantPipeline(error, client)}`
    process.stderr.write(`${text}\n`)
    return exitCodeOf(error)
  }
}

/** Aborts on the first Ctrl-C; the second one ends the process. */
const interrupted = (): AbortSignal => {
  const controller = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => controller.abort())
  return controller.signal
}

const printCompletion = ([shell = '']: readonly string[]): number => {
  const script = Object.hasOwn(COMPLETIONS, shell) ? COMPLETIONS[shell] : undefined
  if (script !== undefined) process.stdout.write(script)
  else process.stderr.write(`video-pipeline-service completion: Use one of: ${Object.keys(COMPLETIONS).join(', ')}\n`)
  return script === undefined ? EXIT.usage : EXIT.done
}

/** Upper bound of a completion. */
const COMPLETION_MS = 1500

const printCandidates = async (words: readonly string[]): Promise<void> => {
  const ids = async () => {
    const { client } = connect(readArguments('ls', serviceOptionsIn(words)), process.env)
    const pipelines = await client.listPipelines({ signal: AbortSignal.timeout(COMPLETION_MS) })
    return pipelines.map((pipeline) => [printable(pipeline.id), wordOf(pipeline)] as const)
  }
  const commands = [...Object.entries(VERBS), ...Object.entries(HOST_COMMANDS)].map(([name, { about }]) => [name, about] as const)
  // A shell shows no errors of a completion; without a service there are no ids.
  const found = await complete(words, { commands, ids: () => ids().catch(() => []) })
  process.stdout.write(found.map((line) => `${line}\n`).join(''))
}

// A reader such as head closes the pipe early.
process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? EXIT.done : EXIT.failed))

const [, , verb = '', ...args] = process.argv
// Hides the arguments (setproctitle), since other users of this host could read a key in them.
process.title = 'video-pipeline-service'
if (isVerb(verb)) process.exitCode = await main(verb, args)
else if (verb === 'completion') process.exitCode = printCompletion(args)
else if (verb === '__complete') await printCandidates(args)
