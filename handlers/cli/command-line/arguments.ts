import { parseArgs } from 'node:util'
import { didYouMean } from '../../../lib/console/nearest.ts'
import { OPTIONS, type Option, type OptionName, optionsOf, synopsis, VERBS, type Verb, type VerbName } from './verbs.ts'

/** The command line is wrong; the message says how to correct it. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

/** The parsed arguments of a command. */
export interface Given {
  /** Ids of pipelines, mostly. */
  readonly operands: readonly string[]
  text(name: OptionName): string | undefined
  has(name: OptionName): boolean
}

const ENDLESS = Number.POSITIVE_INFINITY
const COUNTS = { none: [0, 0], any: [0, 1], one: [1, 1], some: [1, ENDLESS], many: [0, ENDLESS] } as const

/** Throws UsageError. */
export const readArguments = (verb: VerbName, args: readonly string[]): Given => {
  const { values, positionals } = parse(verb, args)
  if (values.help !== true) requireOperands(verb, positionals)
  return {
    operands: [...new Set(positionals)],
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

const requireOperands = (verb: VerbName, given: readonly string[]): void => {
  const { operands: [count] = ['none'] } = VERBS[verb] as Verb
  const [least, most] = COUNTS[count]
  if (given.length >= least && given.length <= most) return
  throw new UsageError(`Use ${verb} as: video-pipeline-service ${synopsis(verb)}`)
}
