import { printable } from '../../../lib/log/printable.ts'
import type { Pipeline } from '../../client/client.ts'
import { readerAddress } from '../../client/reader-address.ts'
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

/** The phase or, at rest, the state. */
export const wordOf = ({ state, runtime: { phase } }: Pick<Pipeline, 'state' | 'runtime'>): string =>
  printable(phase === 'idle' ? state : phase)

/** The status of a pipeline; on a terminal with a sign and a color. */
export const statusCell = (pipeline: Pick<Pipeline, 'state' | 'runtime'>, { isInteractive, paint }: Terminal): Cell => {
  const { phase } = pipeline.runtime
  const [sign, color] = Object.hasOwn(SIGNS, phase) ? SIGNS[phase] : (['?', 'yellow'] as const)
  return { text: isInteractive ? `${sign} ${wordOf(pipeline)}` : wordOf(pipeline), paint: paint[color] }
}

/** The address for readers; empty without an output. */
export const outputAddress = ({ output }: Pick<Pipeline, 'output'>, api: URL): string =>
  printable(readerAddress(output?.uri ?? '', api.hostname))
