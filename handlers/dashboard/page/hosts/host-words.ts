import { countText } from '../words/format.ts'
import type { Tone } from '../words/phases.ts'
import type { Host } from './fleet.ts'

interface HostState {
  readonly word: string
  readonly tone: Tone
  readonly icon: 'dot' | 'wait' | 'alert' | 'stop'
  readonly is: (host: Host) => boolean
}

const isBehind = ({ desired_revision, applied_revision }: Host): boolean =>
  desired_revision !== null && desired_revision !== applied_revision

/** The gravest first. */
const STATES: readonly HostState[] = [
  { word: 'Away', tone: 'bad', icon: 'alert', is: ({ linked }) => !linked },
  { word: 'Error', tone: 'bad', icon: 'alert', is: ({ error }) => error !== null },
  { word: 'Degraded', tone: 'bad', icon: 'alert', is: ({ health }) => health.status !== 'ok' },
  { word: 'Failed', tone: 'bad', icon: 'alert', is: ({ pipelines }) => pipelines.some(({ phase }) => phase === 'failed') },
  { word: 'Drift', tone: 'busy', icon: 'alert', is: ({ drift }) => drift.length > 0 },
  { word: 'Applying', tone: 'busy', icon: 'wait', is: isBehind },
  { word: 'Linked', tone: 'good', icon: 'dot', is: () => true },
]

/** The state of a host, in a word. */
export const hostState = (host: Host): HostState => STATES.find(({ is }) => is(host)) as HostState

/** The groups of the page. */
export const GROUPS = {
  all: { word: 'All', has: () => true },
  trouble: { word: 'To look at', has: (host: Host) => hostState(host).tone !== 'good' },
  away: { word: 'Away', has: ({ linked }: Host) => !linked },
} as const
export type Group = keyof typeof GROUPS

/** `Revision 12`, `Revision 11 of 12`, `No document`. */
export const documentText = ({ desired_revision, applied_revision }: Host): string => {
  if (desired_revision === null) return 'No document'
  return desired_revision === applied_revision
    ? `Revision ${desired_revision}`
    : `Revision ${applied_revision ?? '–'} of ${desired_revision}`
}

export const playingText = ({ pipelines }: Host): string =>
  pipelines.length === 0
    ? 'No pipelines'
    : `${pipelines.filter(({ phase }) => phase === 'playing').length} of ${countText(pipelines.length, 'pipeline')} live`

export const labelTexts = ({ labels }: Host): readonly string[] => Object.entries(labels).map(([name, value]) => `${name}=${value}`)

const DRIFTS: Readonly<Record<string, string>> = {
  missing: 'Was deleted here',
  changed: 'Was changed here',
  extra: 'Is not in the document',
  stopped: 'Was stopped here',
  started: 'Was started here',
  settings: 'Were changed here',
}

/** What differs from the document, in words. */
export const driftText = (kind: string): string => DRIFTS[kind] ?? kind
