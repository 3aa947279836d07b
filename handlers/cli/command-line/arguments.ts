import { parseArgs } from 'node:util'
import { OPTIONS, type Option, type OptionName, optionsOf, synopsis, VERBS, type Verb, type VerbName } from './verbs.ts'

/** The command line is wrong; the message says how to correct it. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

/** The parsed arguments of a command. */
export interface Given {
  readonly ids: readonly string[]
  text(name: OptionName): string | undefined
  has(name: OptionName): boolean
}

/** Throws UsageError. */
export const readArguments = (verb: VerbName, args: readonly string[]): Given => {
  const { values, positionals } = parse(verb, args)
  if (values.help !== true) requireIds(verb, positionals)
  return {
    ids: [...new Set(positionals)],
    text: (name) => (typeof values[name] === 'string' ? values[name] : undefined),
    has: (name) => values[name] !== undefined,
  }
}

const parse = (verb: VerbName, args: readonly string[]) => {
  const options = Object.fromEntries(
    optionsOf(verb).map((name) => {
      const { value, short }: Option = OPTIONS[name]
      return [name, { type: value === undefined ? ('boolean' as const) : ('string' as const), ...(short !== undefined && { short }) }]
    }),
  )
  try {
    return parseArgs({ args: [...args], options, allowPositionals: true })
  } catch (error) {
    // The message of Node.js names the option.
    throw new UsageError(`${(error as Error).message.split('. ')[0]}. Use --help for the options of ${verb}.`)
  }
}

const requireIds = (verb: VerbName, given: readonly string[]): void => {
  const { ids } = VERBS[verb] as Verb
  const [least, most] = { none: [0, 0], any: [0, 1], one: [1, 1], some: [1, Number.POSITIVE_INFINITY] }[ids ?? 'none'] as [number, number]
  if (given.length >= least && given.length <= most) return
  throw new UsageError(`Use ${verb} as: video-pipeline-service ${synopsis(verb)}`)
}
