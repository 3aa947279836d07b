import type { ReportedHost } from '../../../lib/fleet/reported-host.ts'
import { printable, printableJson } from '../../../lib/log/printable.ts'
import { readHost, readHosts } from '../../node/nats/hosts.ts'
import { EXIT } from '../command-line/exit.ts'
import type { Session } from '../command-line/session.ts'
import { shortDuration } from '../terminal/amounts.ts'
import { fieldLines } from '../terminal/fields.ts'
import { type Cell, type Column, cutEnd, formatTable } from '../terminal/table.ts'
import type { FleetConnection } from './open.ts'
import { unknownHost } from './unknown-host.ts'

/** A host reports each 30 s: one that has not for longer is away, seconds. */
const AWAY_SECONDS = 75

const COLUMNS: readonly Column[] = [
  { title: 'HOST', minWidth: 16 },
  { title: 'STATE' },
  { title: 'DOCUMENT' },
  { title: 'DRIFT', align: 'right', dropOrder: 4 },
  { title: 'PLAYING', align: 'right', dropOrder: 5 },
  { title: 'LABELS', minWidth: 12, dropOrder: 3 },
  { title: 'VERSION', dropOrder: 1 },
  { title: 'SEEN', align: 'right', dropOrder: 2 },
]

/** The hosts as a table, with what is wrong below each, or as JSON. */
export const listHosts = async (session: Session, fleet: FleetConnection): Promise<number> => {
  const { out, isJson, given } = session
  const hosts = (await readHosts(fleet.stores)).map(({ state }) => state)
  if (given.has('quiet')) for (const { host } of hosts) out.print(printable(host))
  else if (isJson) out.print(printableJson(hosts, 2))
  else if (hosts.length === 0) out.print(out.paint.dim('No host has joined yet.'))
  else for (const line of tableOf(hosts, session)) out.print(line)
  return EXIT.done
}

/** Every field of one host. */
export const showHost = async ({ out, isJson, now }: Session, fleet: FleetConnection, name: string): Promise<number> => {
  const state = (await readHost(fleet.stores, name))?.state
  if (state === undefined) throw unknownHost(name)
  const { host, ...fields } = state
  const cell = stateCell(state, out, now())
  const lines = isJson
    ? [printableJson(state, 2)]
    : [`${out.paint.bold(printable(host))}  ${cell.paint?.(cell.text) ?? cell.text}`, ...fieldLines(fields, out, now())]
  for (const line of lines) out.print(line)
  return EXIT.done
}

const tableOf = (hosts: readonly ReportedHost[], { out, now }: Session): readonly string[] => {
  const rows = hosts.map((state): readonly Cell[] => {
    const { desired_revision, applied_revision, drift, pipelines, labels } = state
    const playing = pipelines.filter(({ phase }) => phase === 'playing').length
    return [
      { text: printable(state.host), paint: out.paint.bold },
      stateCell(state, out, now()),
      {
        text:
          desired_revision === null
            ? '–'
            : desired_revision === applied_revision
              ? `${desired_revision}`
              : `${applied_revision ?? '–'} of ${desired_revision}`,
      },
      { text: drift.length > 0 ? String(drift.length) : '', paint: out.paint.yellow },
      { text: `${playing}/${pipelines.length}` },
      {
        text: printable(
          Object.entries(labels)
            .map(([name, value]) => `${name}=${String(value)}`)
            .join(' '),
        ),
      },
      { text: printable(state.version) },
      { text: shortDuration(ageOf(state, now())), paint: out.paint.dim },
    ]
  })
  const [head = '', ...lines] = formatTable(COLUMNS, rows, { width: out.columns, paintTitle: out.paint.dim })
  const withError = (line: string, at: number): readonly string[] => {
    const error = hosts[at]?.error
    return typeof error === 'string' ? [line, out.paint.dim(cutEnd(`  ↳ ${printable(error)}`, out.columns))] : [line]
  }
  return [head, ...lines.flatMap(withError)]
}

const ageOf = ({ at }: ReportedHost, now: number): number => Math.max(0, (now - Date.parse(at)) / 1000)

const stateCell = (state: ReportedHost, { paint }: Session['out'], now: number): Cell => {
  if (ageOf(state, now) > AWAY_SECONDS) return { text: 'away', paint: paint.red }
  if (state.error !== null || state.health.status !== 'ok')
    return { text: state.error === null ? 'degraded' : 'error', paint: paint.yellow }
  return { text: 'linked', paint: paint.green }
}
