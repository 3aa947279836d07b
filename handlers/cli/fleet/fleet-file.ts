import { parse } from 'yaml'
import { messageOf } from '../../../lib/errors.ts'
import type { ReportedHost } from '../../../lib/fleet/reported-host.ts'
import { isRecord } from '../../../lib/json/is-record.ts'
import { readDeclaration } from '../../declared/declaration.ts'
import { DeclarationError } from '../../declared/declaration-error.ts'

/** A document and the host that it is for. */
export interface Assigned {
  readonly host: string
  readonly text: string
}

interface Selector {
  readonly labels: Readonly<Record<string, string>>
  readonly text: string
}

/** A file with the documents of many hosts, by name or by labels. */
interface FleetFile {
  readonly hosts: readonly Assigned[]
  readonly selectors: readonly Selector[]
}

const SHAPE = 'Use hosts and selectors, or --host with a file of pipelines and settings'

/** Reads `{ hosts, selectors }`, YAML or JSON. Throws DeclarationError with every mistake. */
export const readFleetFile = (text: string, name: string): FleetFile => {
  const value = parsed(text, name)
  if (!isRecord(value)) throw new DeclarationError([`${name}: ${SHAPE}`])
  const { hosts = {}, selectors = [], ...others } = value
  const mistakes = Object.keys(others).map((field) => `${name}: ${field}: Unknown field; ${SHAPE}`)
  if (!isRecord(hosts)) mistakes.push(`${name}: hosts: Use an object with a document for each host`)
  if (!Array.isArray(selectors)) mistakes.push(`${name}: selectors: Use a list of { labels, document }`)
  const documentOf = (document: unknown, path: string): string => {
    const stored = JSON.stringify(document ?? null, null, 2)
    mistakes.push(...mistakesOf(document, `${name}: ${path}`))
    return stored
  }
  const assigned = isRecord(hosts)
    ? Object.entries(hosts).map(([host, document]) => ({ host, text: documentOf(document, `hosts.${host}`) }))
    : []
  const selecting = (Array.isArray(selectors) ? selectors : []).flatMap((selector: unknown, at) => {
    const path = `selectors[${at}]`
    if (isRecord(selector) && isLabels(selector.labels))
      return [{ labels: selector.labels, text: documentOf(selector.document, `${path}.document`) }]
    mistakes.push(`${name}: ${path}: Use labels, such as { site: north }, and a document`)
    return []
  })
  if (mistakes.length > 0) throw new DeclarationError(mistakes)
  return { hosts: assigned, selectors: selecting }
}

const parsed = (text: string, name: string): unknown => {
  try {
    return parse(text, { maxAliasCount: 1000 })
  } catch (error) {
    throw new DeclarationError([`${name}: ${messageOf(error).split('\n')[0]}`])
  }
}

const isLabels = (value: unknown): value is Selector['labels'] =>
  isRecord(value) && Object.keys(value).length > 0 && Object.values(value).every((one) => typeof one === 'string')

/** A line and column of the document by itself mean nothing in the file. */
const mistakesOf = (document: unknown, place: string): readonly string[] => {
  try {
    readDeclaration(JSON.stringify(document ?? null), '')
    return []
  } catch (error) {
    if (!(error instanceof DeclarationError)) throw error
    return error.mistakes.map((mistake) => `${place}: ${mistake.replace(/^(?::\d{1,9}:\d{1,9})?: /, '')}`)
  }
}

/** The document of each host: its own, or that of the first selector whose labels it has. */
export const assign = ({ hosts, selectors }: FleetFile, known: readonly ReportedHost[]): readonly Assigned[] => {
  const named = new Set(hosts.map(({ host }) => host))
  const selected = known.flatMap(({ host, labels }) => {
    const selector = named.has(host)
      ? undefined
      : selectors.find((one) => Object.entries(one.labels).every(([name, value]) => labels[name] === value))
    return selector === undefined ? [] : [{ host, text: selector.text }]
  })
  return [...hosts, ...selected]
}
