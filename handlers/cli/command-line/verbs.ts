import { helpRows } from '../../../lib/console/help-rows.ts'

/** An option of the command line. */
export interface Option {
  readonly short?: string
  /** Name of its value; undefined for a flag. */
  readonly value?: string
  /** Allowed values; undefined for any. */
  readonly values?: readonly string[]
  readonly about: string
  /** May be given more than once. */
  readonly many?: true
}

export const OPTIONS = {
  url: { value: 'URL', about: 'address of the service; SVC_URL, else this host at SVC_PORT or 8080' },
  'api-key': { value: 'KEY|@FILE', about: 'API key, or a file with it; SVC_API_KEY, else the key of a local data directory' },
  json: { about: 'print JSON for programs' },
  help: { short: 'h', about: 'print this help' },
  watch: { short: 'w', about: 'keep showing changes until Ctrl-C' },
  quiet: { short: 'q', about: 'print only ids' },
  mode: { value: 'MODE', values: ['simple', 'advanced'], about: 'only simple or advanced pipelines' },
  state: { value: 'STATE', values: ['ready', 'playing'], about: 'only ready or playing pipelines' },
  force: { about: 'stop it first if it runs' },
  output: { short: 'o', value: 'FILE', about: 'file to write; - is standard output' },
  width: { value: 'PIXELS', about: 'maximum width of the picture' },
  file: { short: 'f', value: 'FILE', about: 'YAML or JSON; - is standard input' },
  follow: { short: 'f', about: 'go on with the lines that come, until Ctrl-C' },
  remove: { about: 'remove the password: then nobody needs one' },
  prune: { about: 'delete pipelines that are not in the file, except those of triggers' },
  wait: { about: 'wait until each started pipeline plays; one that does not is an error' },
  'dry-run': { about: 'print what would change, and change nothing' },
  quality: { value: '1-100', about: 'JPEG quality' },
  from: { value: 'TIME', about: 'begin of the range, such as 2026-11-20T09:30:00Z' },
  to: { value: 'TIME', about: 'end of the range' },
  covers: { value: 'LAT,LON', about: 'only what the footprint of the camera held' },
  off: { about: 'record no more' },
  host: { value: 'HOST', many: true, about: 'only this host, whose document is the whole file; more than once, or separated by commas' },
  data: { short: 'd', value: 'JSON|@FILE', about: 'body of the request, or a file with it' },
  key: { value: 'FILE', about: 'key of the signatures; that of the local data directory' },
} as const satisfies Readonly<Record<string, Option>>

export type OptionName = keyof typeof OPTIONS

/** A command that runs or prepares a service. */
export interface HostCommand {
  readonly about: string
  /** Shown after the name. */
  readonly needs?: string
  /** Each with the name of its value, and its description. */
  readonly options?: Readonly<Record<string, string>>
}

const ROOT = { '--root DIR': 'use this directory as / of the host' }

export const HOST_COMMANDS = {
  serve: { about: 'run the API, with its own engine unless SVC_ENGINE_URL is set (--help lists the variables)' },
  engine: { about: 'run a stand-alone engine at SVC_ENGINE_LISTEN with SVC_ENGINE_TOKEN' },
  doctor: { about: 'check this host: encoders, cameras, missing software', options: { '--json': 'print JSON for programs' } },
  openapi: { about: 'print the OpenAPI document as JSON' },
  install: {
    about: 'create users, directories, keys and systemd units',
    options: {
      '--dry-run': 'print what would be done, and do nothing',
      '--force': 'replace units that differ, and keep the old ones as .previous',
      '--without-units': 'only users, directories and keys',
      ...ROOT,
    },
  },
  uninstall: {
    about: 'remove the systemd units',
    options: {
      '--dry-run': 'print what would be done, and do nothing',
      '--purge': 'also remove users, keys and data',
      ...ROOT,
    },
  },
  completion: {
    about: 'print the script that completes commands in this shell',
    needs: 'bash|zsh|fish',
  },
} as const satisfies Readonly<Record<string, HostCommand>>

export type HostCommandName = keyof typeof HOST_COMMANDS

export const isHostCommand = (name: string): name is HostCommandName => Object.hasOwn(HOST_COMMANDS, name)

/** A command that calls the API of a service. */
export interface Verb {
  readonly about: string
  /** What follows the name: `one`, `any` (none or one), `some` (one or more) or `many`; undefined for nothing. */
  readonly operands?: readonly [count: 'one' | 'any' | 'some' | 'many', name: 'ID' | 'FIELD=VALUE' | 'DIR|FILE' | 'ACTION']
  /** Shown after the name. */
  readonly needs?: string
  /** In addition to COMMON_OPTIONS. */
  readonly options?: readonly OptionName[]
  /** What the first operand may be, with its own operands; such a command does not use a service. */
  readonly actions?: Readonly<Record<string, string>>
}

export const COMMON_OPTIONS = ['url', 'api-key', 'json', 'help'] as const satisfies readonly OptionName[]

export const VERBS = {
  ls: { about: 'list the pipelines', options: ['watch', 'quiet', 'mode', 'state'] },
  get: { about: 'show a pipeline', operands: ['one', 'ID'], options: ['watch'] },
  create: { about: 'create the pipelines of a file', needs: '-f FILE', options: ['file'] },
  validate: { about: 'check the pipelines of a file, and change nothing', needs: '-f FILE', options: ['file'] },
  apply: { about: 'apply the pipelines and settings of a file', needs: '-f FILE', options: ['file', 'prune', 'wait', 'dry-run'] },
  export: { about: 'print pipelines and settings as a file for apply' },
  play: { about: 'start pipelines and wait until they play', operands: ['some', 'ID'] },
  stop: { about: 'stop pipelines', operands: ['some', 'ID'] },
  delete: { about: 'delete pipelines', operands: ['some', 'ID'], options: ['force'] },
  logs: { about: 'print the last output lines of all pipelines, or of one', operands: ['any', 'ID'], options: ['follow'] },
  events: { about: 'follow the events of all pipelines, or of one', operands: ['any', 'ID'] },
  snapshot: {
    about: 'save the current picture as JPEG',
    operands: ['one', 'ID'],
    needs: '-o FILE',
    options: ['output', 'width', 'quality'],
  },
  record: { about: 'record pipelines whenever they play', operands: ['some', 'ID'], options: ['off'] },
  recordings: { about: 'list what was recorded, the newest first', operands: ['any', 'ID'], options: ['from', 'to', 'covers'] },
  'export-recording': {
    about: 'save a recording --from a time --to another, as .ts or .mp4',
    operands: ['one', 'ID'],
    needs: '-o FILE',
    options: ['from', 'to', 'output'],
  },
  verify: { about: 'check recordings against their signed chains', operands: ['some', 'DIR|FILE'], options: ['key'] },
  health: { about: 'show how the service, its engine and its database are' },
  settings: { about: 'show the settings, or change some of them', operands: ['many', 'FIELD=VALUE'] },
  fleet: {
    about: 'show and change a fleet of hosts, at the NATS servers of SVC_NATS_URL',
    operands: ['some', 'ACTION'],
    options: ['file', 'host', 'dry-run', 'data', 'quiet'],
    actions: {
      ls: 'list the hosts',
      'get HOST': 'show a host',
      'apply -f FILE': 'store what is desired of the hosts of a file',
      'api HOST METHOD PATH': 'send a request to a host',
      'events [HOST]': 'follow the events of all hosts, or of one',
    },
  },
  password: { about: 'set the password of the API, read from the terminal or standard input', options: ['remove'] },
} as const satisfies Readonly<Record<string, Verb>>

export type VerbName = keyof typeof VERBS

export const isVerb = (name: string): name is VerbName => Object.hasOwn(VERBS, name)

export const optionsOf = (name: VerbName): readonly OptionName[] => {
  const { options = [], actions }: Verb = VERBS[name]
  return [...options, ...(actions === undefined ? COMMON_OPTIONS : (['json', 'help'] as const))]
}

const operandsOf = ({ operands }: Verb): string => {
  if (operands === undefined) return ''
  const [count, name] = operands
  return { one: ` ${name}`, any: ` [${name}]`, some: ` ${name}...`, many: ` [${name}...]` }[count]
}

/** `get ID` */
export const synopsis = (name: VerbName): string => {
  const verb: Verb = VERBS[name]
  return name + operandsOf(verb) + (verb.needs === undefined ? '' : ` ${verb.needs}`)
}

/** The text of `--help`. */
export const helpOf = (name: VerbName): string => {
  const rows = optionsOf(name).map((option) => {
    const { short, value, about }: Option = OPTIONS[option]
    return [`${short === undefined ? '    ' : `-${short}, `}--${option}${value === undefined ? '' : ` ${value}`}`, about] as const
  })
  const { actions }: Verb = VERBS[name]
  return [
    `usage: video-pipeline-service ${synopsis(name)} [options]`,
    '',
    `${VERBS[name].about}`,
    '',
    ...(actions === undefined ? [] : [...helpRows(Object.entries(actions)), '']),
    ...helpRows(rows),
    '',
    'Exit codes: 0 done, 1 failed, 2 usage, 3 not found, 4 not allowed.',
    '',
  ].join('\n')
}

/** How a command is to be used, after a mistake. */
export const usageOf = (verb: VerbName): string => {
  const { actions } = VERBS[verb] as Verb
  const action = actions === undefined ? '' : `, where ACTION is one of ${Object.keys(actions).join(', ')}`
  return `Use ${verb} as: video-pipeline-service ${synopsis(verb)}${action}`
}
