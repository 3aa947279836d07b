import * as v from 'valibot'
import { isFleetHostName } from '../../../lib/configuration/fleet.ts'
import { ACTUAL_BUCKET, streamOfBucket, subjectOfKey } from '../../../lib/fleet/names.ts'
import { reportedHostSchema, type StoredReport } from '../../../lib/fleet/reported-host.ts'
import { createSlots } from '../../../lib/slots.ts'
import type { Stores } from './stores.ts'

/** Code of JetStream: there is no such stream. */
const STREAM_NOT_FOUND = 10059
/** Reads at once, of a store that may be far away. */
const READS = 16
/** Hosts of a fleet, so that a store that somebody fills takes no memory here. */
const MAX_HOSTS = 2000

type Reports = Pick<Stores, 'actual' | 'jsm'>

/** The names of all hosts that have ever reported, in their order. */
const hostNames = async ({ jsm }: Reports): Promise<readonly string[]> => {
  const prefix = subjectOfKey(ACTUAL_BUCKET, '')
  try {
    const { state } = await jsm.streams.info(streamOfBucket(ACTUAL_BUCKET), { subjects_filter: `${prefix}>` })
    return Object.keys(state.subjects ?? {})
      .map((subject) => subject.slice(prefix.length))
      .filter(isFleetHostName)
      .sort()
  } catch (error) {
    // No host has joined yet.
    if ((error as { readonly code?: unknown }).code === STREAM_NOT_FOUND) return []
    throw error
  }
}

/** What a host has reported last; undefined when the fleet has none of this name. A host may write anything there, but not for others. */
export const readHost = async ({ actual }: Pick<Stores, 'actual'>, host: string): Promise<StoredReport | undefined> => {
  const entry = await actual.get(host)
  if (entry?.operation !== 'PUT') return undefined
  const { success, output } = v.safeParse(reportedHostSchema, parse(entry.string()))
  return success ? { state: { ...output, host }, storedAt: entry.created.getTime() } : undefined
}

const parse = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** What all hosts have reported, by name. */
export const readHosts = async (stores: Reports): Promise<readonly StoredReport[]> => {
  const names = (await hostNames(stores)).slice(0, MAX_HOSTS)
  const slots = createSlots({ running: READS, waiting: MAX_HOSTS, refusal: () => new Error('too many hosts') })
  const reports = await Promise.all(names.map((host) => slots.run(() => readHost(stores, host))))
  return reports.filter((report) => report !== undefined)
}
