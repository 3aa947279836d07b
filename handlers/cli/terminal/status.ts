import { printable } from '../../../lib/log/printable.ts'
import type { Pipeline } from '../../client/client.ts'
import type { Cell } from './table.ts'
import type { Terminal } from './terminal.ts'

type Phase = Pipeline['runtime']['phase']

const SIGNS = {
  playing: ['●', 'green'],
  starting: ['◌', 'cyan'],
  reconnecting: ['◐', 'yellow'],
  stopping: ['◌', 'dim'],
  failed: ['✗', 'red'],
  idle: ['○', 'dim'],
} as const satisfies Readonly<Record<Phase, readonly [string, string]>>

/** What a pipeline does, in one word. */
export const wordOf = ({ state, runtime: { phase } }: Pick<Pipeline, 'state' | 'runtime'>): string =>
  printable(phase === 'idle' ? state : phase)

/** What a pipeline does; on a terminal with a sign and a color. */
export const statusCell = (pipeline: Pick<Pipeline, 'state' | 'runtime'>, { isInteractive, paint }: Terminal): Cell => {
  const { phase } = pipeline.runtime
  const [sign, color] = Object.hasOwn(SIGNS, phase) ? SIGNS[phase] : (['?', 'yellow'] as const)
  return { text: isInteractive ? `${sign} ${wordOf(pipeline)}` : wordOf(pipeline), paint: paint[color] }
}

/** The address for readers: an output that listens on all addresses is reached at the host of the API. */
export const readerAddress = ({ output }: Pick<Pipeline, 'output'>, api: URL): string =>
  printable(output?.uri.replace(/^(rtsps?:\/\/)(?:0\.0\.0\.0|\[::\])(?=:)/, `$1${api.hostname}`) ?? '')
