import { CONFIGURATION_VARIABLES } from '../../lib/configuration/configuration.ts'
import { helpRows } from '../../lib/console/help-rows.ts'

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

const OPTIONS = [
  ['--takeover', 'take the data directory over from the running service; streams continue'],
  ['--version', 'print the version'],
  ['-h, --help', 'print this help'],
] as const

/** The text of `--help`: every environment variable with its default. */
export const helpText = (): string =>
  [
    'usage: video-pipeline-service serve [--takeover]',
    '',
    ...helpRows(OPTIONS),
    '',
    'Environment variables:',
    ...helpRows(CONFIGURATION_VARIABLES.map(({ name, shown, about }) => [name, `${about} (default: ${shown})`])),
    '',
  ].join('\n')
