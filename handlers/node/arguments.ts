import { CONFIGURATION_VARIABLES } from '../../lib/configuration.ts'

/** The parsed command line. */
type Arguments =
  | { readonly kind: 'serve'; readonly takeOver: boolean }
  | { readonly kind: 'help' }
  | { readonly kind: 'version' }
  | { readonly kind: 'unknown'; readonly argument: string }

/** Parses the command line; the environment configures everything else. */
export const readArguments = (args: readonly string[]): Arguments => {
  if (args.includes('--help') || args.includes('-h')) return { kind: 'help' }
  if (args.includes('--version')) return { kind: 'version' }
  const unknown = args.find((argument) => argument !== '--takeover')
  return unknown === undefined ? { kind: 'serve', takeOver: args.includes('--takeover') } : { kind: 'unknown', argument: unknown }
}

/** The text of `--help`: every environment variable with its default. */
export const helpText = (): string => {
  const width = Math.max(...CONFIGURATION_VARIABLES.map(({ name }) => name.length))
  const lines = CONFIGURATION_VARIABLES.map(({ name, shown, about }) => `  ${name.padEnd(width)}  ${about} (default: ${shown})`)
  return [
    'usage: node dist/node.js [--takeover | --help | --version]',
    '',
    '  --takeover  take the data directory over from the running service process; streams continue',
    '',
    'Environment:',
    ...lines,
    '',
  ].join('\n')
}
