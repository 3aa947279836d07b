import { messageOf } from '../../../lib/errors.ts'
import { isRecord } from '../../../lib/json/is-record.ts'
import { printable, printableJson } from '../../../lib/log/printable.ts'
import { readDeclaration } from '../../declared/declaration.ts'
import { readHosts } from '../../node/nats/hosts.ts'
import { createStores } from '../../node/nats/stores.ts'
import { UsageError } from '../command-line/arguments.ts'
import { EXIT } from '../command-line/exit.ts'
import type { Session } from '../command-line/session.ts'
import { readText } from '../verbs/input.ts'
import { type Assigned, assign, readFleetFile } from './fleet-file.ts'
import type { FleetConnection } from './open.ts'
import { unknownHost } from './unknown-host.ts'

/** What is done with the document of a host. */
interface Change {
  readonly host: string
  readonly change: 'created' | 'changed' | 'unchanged'
  /** Ids of pipelines that the document has gained, has otherwise, or no longer has. */
  readonly added: readonly string[]
  readonly altered: readonly string[]
  readonly removed: readonly string[]
  readonly text: string
}

/** Stores the documents of a file; each host applies its own by itself. Changes nothing when a host is unknown. */
export const applyFleet = async (session: Session, fleet: FleetConnection, more: readonly string[]): Promise<number> => {
  const { given, out, isJson } = session
  const { text, name } = readText(session)
  const named = [...given.texts('host').flatMap((list) => list.split(',')), ...more].filter((host) => host !== '')
  if (more.length > 0 && !given.has('host')) throw new UsageError('Use fleet apply -f FILE, with --host HOST before the names of hosts.')
  // A wrong file is a mistake whatever the hosts are.
  const file = named.length > 0 ? undefined : readFleetFile(text, name)
  if (file === undefined) readDeclaration(text, name)
  await createStores(fleet.connection, fleet.stores)
  const known = (await readHosts(fleet.stores)).map(({ state }) => state)
  const assigned = file === undefined ? [...new Set(named)].map((host) => ({ host, text })) : assign(file, known)
  const unknown = assigned.find(({ host }) => !known.some((one) => one.host === host))
  if (unknown !== undefined) throw unknownHost(unknown.host)
  const results: object[] = []
  let failed = false
  for (const one of assigned) {
    try {
      const result = await store(one, fleet, given.has('dry-run'))
      results.push(result)
      if (!isJson) for (const line of linesOf(result, session)) out.print(line)
    } catch (error) {
      failed = true
      results.push({ host: one.host, error: messageOf(error) })
      process.stderr.write(`${printable(one.host)}  ${printable(messageOf(error))}\n`)
    }
  }
  if (isJson) out.print(printableJson(results, 2))
  else if (assigned.length === 0) out.print(out.paint.dim('No host has these labels.'))
  return failed ? EXIT.failed : EXIT.done
}

const store = async (assigned: Assigned, { stores }: FleetConnection, isDryRun: boolean) => {
  const { text, ...change } = await compare(assigned, { stores })
  if (isDryRun || change.change === 'unchanged') return change
  return { ...change, revision: await stores.desired.put(change.host, text) }
}

const compare = async ({ host, text }: Assigned, { stores }: Pick<FleetConnection, 'stores'>): Promise<Change> => {
  const entry = await stores.desired.get(host)
  const before = entry?.operation === 'PUT' ? entry.string() : undefined
  const [old, present] = [pipelinesOf(before), pipelinesOf(text)]
  return {
    host,
    text,
    change: before === undefined ? 'created' : before === text ? 'unchanged' : 'changed',
    added: [...present.keys()].filter((id) => !old.has(id)),
    altered: [...present].filter(([id, config]) => old.has(id) && old.get(id) !== config).map(([id]) => id),
    removed: [...old.keys()].filter((id) => !present.has(id)),
  }
}

/** The pipelines of a document as text, by id; none of one that is not valid. */
const pipelinesOf = (text: string | undefined): ReadonlyMap<string, string> => {
  try {
    const { pipelines } = readDeclaration(text ?? '{}', '')
    return new Map(pipelines.map(({ id, config, state }) => [id, JSON.stringify([config, state])]))
  } catch {
    return new Map()
  }
}

const SIGNS = { created: '+', changed: '~', unchanged: '=' } as const
const COLORS = { created: 'green', changed: 'yellow', unchanged: 'dim' } as const

const linesOf = ({ host, change, added, altered, removed, ...rest }: Omit<Change, 'text'>, { out }: Session): readonly string[] => {
  const { paint } = out
  const revision = isRecord(rest) && typeof rest.revision === 'number' ? paint.dim(`  revision ${rest.revision}`) : ''
  const ids = (sign: string, list: readonly string[], color: (text: string) => string) =>
    list.map((id) => `    ${color(sign)} ${printable(id)}`)
  return [
    `${paint[COLORS[change]](SIGNS[change])} ${paint.bold(printable(host))}${revision}`,
    ...ids('+', added, paint.green),
    ...ids('~', altered, paint.yellow),
    ...ids('-', removed, paint.red),
  ]
}
