import { parseArgs } from 'node:util'
import { didYouMean } from '../../../lib/console/nearest.ts'
import { OPTIONS, type Option, type OptionName, optionsOf, usageOf, VERBS, type Verb, type VerbName } from './verbs.ts'

/** The command line is wrong; the message says how to correct it. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

/** The parsed arguments of a command. */
export interface Given {
  /** Ids of pipelines, mostly. */
  readonly operands: readonly string[]
  text(name: OptionName): string | undefined
  /** Of an option that may be given more than once. */
  texts(name: OptionName): readonly string[]
  has(name: OptionName): boolean
}

const ENDLESS = Number.POSITIVE_INFINITY
const COUNTS = { none: [0, 0], any: [0, 1], one: [1, 1], some: [1, ENDLESS], many: [0, ENDLESS] } as const

/** Throws UsageError. */
export const readArguments = (verb: VerbName, args: readonly string[]): Given => {
  const { values, positionals } = parse(verb, args)
  if (values.help !== true) requireOperands(verb, positionals)
  return {
    // A host may have the name of an action.
    operands: verb === 'fleet' ? positionals : [...new Set(positionals)],
    text: (name) => (typeof values[name] === 'string' ? values[name] : undefined),
    texts: (name) => [values[name] ?? []].flat().filter((value) => typeof value === 'string'),
    has: (name) => values[name] !== undefined,
  }
}

interface ParsedOption {
  readonly type: 'boolean' | 'string'
  readonly short?: string
  readonly multiple?: boolean
}

const parse = (verb: VerbName, args: readonly string[]) => {
  const options: Record<string, ParsedOption> = Object.fromEntries(
    optionsOf(verb).map((name) => {
      const { value, short, many }: Option = OPTIONS[name]
      return [
        name,
        {
          type: value === undefined ? ('boolean' as const) : ('string' as const),
          ...(short !== undefined && { short }),
          multiple: many === true,
        },
      ]
    }),
  )
  try {
    return parseArgs({ args: withDashedValues(args, options), options, allowPositionals: true })
  } catch (error) {
    // The message of Node.js names the option.
    const [first = ''] = (error as Error).message.split('. ')
    const mistyped = /'--([\w-]{1,64})/.exec(first)?.[1]
    const meant =
      mistyped === undefined
        ? ''
        : didYouMean(
            `--${mistyped}`,
            optionsOf(verb).map((name) => `--${name}`),
          )
    throw new UsageError(`${first}.${meant} Use --help for the options of ${verb}.`)
  }
}

/** Joins `--api-key -x` to `--api-key=-x`: one random key in 64 begins with a dash, which parseArgs refuses as ambiguous. */
const withDashedValues = (args: readonly string[], options: Readonly<Record<string, ParsedOption>>): string[] => {
  const words = new Set(Object.entries(options).flatMap(([name, { short }]) => [`--${name}`, `-${short}`]))
  const joined: string[] = []
  for (const arg of args) {
    const before = joined.at(-1)
    const takesValue = before?.startsWith('--') && options[before.slice(2)]?.type === 'string'
    if (takesValue && arg.length > 1 && arg.startsWith('-') && arg !== '--' && !words.has(arg.split('=', 1)[0] ?? ''))
      joined.splice(-1, 1, `${before}=${arg}`)
    else joined.push(arg)
  }
  return joined
}

const requireOperands = (verb: VerbName, given: readonly string[]): void => {
  const { operands: [count] = ['none'] } = VERBS[verb] as Verb
  const [least, most] = COUNTS[count]
  if (given.length >= least && given.length <= most) return
  throw new UsageError(usageOf(verb))
}
