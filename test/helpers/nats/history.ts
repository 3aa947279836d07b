import { inspect, isDeepStrictEqual } from 'node:util'
import type { Random } from '../random.ts'
import type { HistoryHost } from './history-host.ts'

/** What the document of a host says, as the test knows it. */
export interface Wanted {
  /** lost: the store was replaced by an empty one. partial: one pipeline is refused by the host. */
  readonly kind: 'none' | 'lost' | 'invalid' | 'partial' | 'full' | 'create-only'
  readonly pipelines: ReadonlyMap<string, Pipeline>
  /** Quality of screenshots; undefined: not declared. */
  readonly quality: number | undefined
}

interface Pipeline {
  readonly uri: string
  readonly plays: boolean
}

export const NOTHING: Wanted = { kind: 'none', pipelines: new Map(), quality: undefined }

const IDS = ['a', 'b', 'c', 'd', 'e'] as const
const uriOf = (random: Random): string => `rtsp://127.0.0.1:9/${random.integer(4)}`

export const randomWanted = (random: Random): Wanted => {
  const dice = random.integer(20)
  const kind = dice < 2 ? 'invalid' : dice < 4 ? 'partial' : dice < 7 ? 'create-only' : 'full'
  const ids = IDS.filter(() => random.chance(0.5))
  const pipelines = new Map(ids.map((id) => [id, { uri: uriOf(random), plays: random.chance(0.7) }]))
  return { kind, pipelines, quality: random.chance(0.3) ? 50 + random.integer(3) : undefined }
}

const REFUSED = 'refused'

export const documentOf = ({ kind, pipelines, quality }: Wanted): string => {
  const declared = [...pipelines].map(([id, { uri, plays }]) => ({ id, source: { uri }, state: plays ? 'playing' : 'ready' }))
  // First, so that the others come after its failure.
  const refused = kind === 'partial' ? [{ id: REFUSED, source: { uri: 'file:///nothing' } }] : []
  return JSON.stringify({
    ...(kind === 'create-only' && { manage: kind }),
    ...(quality !== undefined && { settings: { screenshots: { quality } } }),
    pipelines: kind === 'invalid' ? [{ id: 'a', colour: 'red' }] : [...refused, ...declared],
  })
}

type Local = (host: HistoryHost, id: string, random: Random) => Promise<unknown>

/** What a person changes on a host; a request that does not fit is refused. */
export const LOCALS: Readonly<Record<string, Local>> = {
  create: (host, id, random) => host.request('POST', '/svc/pipeline', { id, mode: 'simple', source: { uri: uriOf(random) } }),
  delete: async (host, id) => {
    await host.request('PUT', `/svc/pipeline/${id}/stop`)
    await host.request('DELETE', `/svc/pipeline/${id}`)
  },
  replace: async (host, id, random) => {
    await host.request('PUT', `/svc/pipeline/${id}/stop`)
    await host.request('PUT', `/svc/pipeline/${id}`, { id, mode: 'simple', source: { uri: uriOf(random) } })
  },
  locate: (host, id) => host.request('PATCH', `/svc/pipeline/${id}`, { geolocation: { latitude: 1, longitude: 2 } }),
  stop: (host, id) => host.request('PUT', `/svc/pipeline/${id}/stop`),
  play: (host, id) => host.request('PUT', `/svc/pipeline/${id}/play`),
  settings: (host, _id, random) => host.request('PUT', '/svc/settings', { screenshots: { quality: 50 + random.integer(3) } }),
}

export const randomId = (random: Random): string => random.pick(IDS)

/** How a host is, read from itself. */
export interface Present {
  readonly pipelines: ReadonlyMap<string, Pipeline & { readonly isLocated: boolean }>
  readonly quality: number
}

export const presentOf = async (host: HistoryHost): Promise<Present> => {
  const [list, settings] = [await host.request('GET', '/svc/pipeline'), await host.request('GET', '/svc/settings')]
  // biome-ignore lint/suspicious/noExplicitAny: as the API answers
  const entries = list.map(({ id, source, runtime, geolocation }: any) => [
    id,
    { uri: source.uri, plays: runtime.desired === 'playing', isLocated: geolocation !== null },
  ])
  return { pipelines: new Map(entries), quality: settings.screenshots.quality }
}

/** How the host differs from what is wanted: `id kind`, without regard to the code under test. */
const differences = ({ pipelines, quality }: Wanted, present: Present): readonly string[] => {
  const found: string[] = []
  if (quality !== undefined && quality !== present.quality) found.push('null settings')
  for (const [id, wanted] of pipelines) {
    const is = present.pipelines.get(id)
    if (is === undefined) found.push(`${id} missing`)
    else if (is.uri !== wanted.uri || is.isLocated) found.push(`${id} changed`)
    else if (is.plays !== wanted.plays) found.push(`${id} ${is.plays ? 'started' : 'stopped'}`)
  }
  for (const id of present.pipelines.keys()) if (!pipelines.has(id)) found.push(`${id} extra`)
  return found.sort()
}

export interface Report {
  /** RFC 3339. */
  readonly at: string
  readonly desired_revision: number | null
  readonly applied_revision: number | null
  readonly error: string | null
  readonly drift: readonly { readonly id: string | null; readonly kind: string }[]
}

/** What must be there of a host that was so before; undefined where that makes no difference. */
const keptOf = ({ kind, pipelines }: Wanted, { pipelines: before, quality }: Present): Present | undefined => {
  if (kind === 'full' || kind === 'partial') return undefined
  const created = kind === 'create-only' ? [...pipelines].filter(([id]) => !before.has(id)) : []
  return { pipelines: new Map([...before, ...created.map(([id, one]) => [id, { ...one, isLocated: false }] as const)]), quality }
}

interface Judged {
  readonly wanted: Wanted
  readonly revision: number | null
  /** How the host was when it got this document; undefined when that is not known. */
  readonly before: Present | undefined
}

/** What is not as it must be in the end; undefined when all is. */
export const faultOf = ({ wanted, revision, before }: Judged, present: Present, report: Report): string | undefined => {
  const kept = before === undefined ? undefined : keptOf(wanted, before)
  if (kept !== undefined && !isDeepStrictEqual(kept, present))
    return `${wanted.kind} must keep ${inspect(kept)}, and not make it ${inspect(present)}: ${JSON.stringify(report)}`
  return faultOfReport(wanted, revision, present, report)
}

const faultOfReport = (wanted: Wanted, revision: number | null, present: Present, report: Report): string | undefined => {
  const { kind } = wanted
  const { desired_revision, applied_revision, error } = report
  const drift = report.drift.map((one) => `${one.id} ${one.kind}`).sort()
  const differs = differences(wanted, present)
  const isApplied = error === null && applied_revision === revision
  const facts = JSON.stringify({ kind, revision, differs, report, present: [...present.pipelines.keys()] })
  if (desired_revision !== revision) return `another revision: ${facts}`
  if (kind === 'none') return error === null && drift.length === 0 ? undefined : `not free: ${facts}`
  if (kind === 'lost') return error === null || /no document/.test(error) ? undefined : `not told: ${facts}`
  if (kind === 'invalid') return error !== null && applied_revision !== revision ? undefined : `taken: ${facts}`
  if (kind === 'partial')
    return error?.includes(REFUSED) && applied_revision !== revision && differs.length === 0 ? undefined : `not all others: ${facts}`
  if (kind === 'full') return isApplied && differs.length === 0 && drift.length === 0 ? undefined : `not as desired: ${facts}`
  const isCreated = differs.every((one) => !one.endsWith(' missing'))
  return isApplied && isCreated && drift.join() === differs.join() ? undefined : `not created: ${facts}`
}
