import type { Client } from '@libsql/client'
import type { SecondSeen, Segment } from '../../lib/segments/segment.ts'

/** Seconds in which the footprint of a camera held a place, both included, since the epoch. */
interface SeenSeconds {
  readonly pipeline_id: string
  readonly first: number
  readonly last: number
}

/** Degrees are stored as whole numbers of 32 bits: 0.1 m. */
const UNITS = 1e6
/** Seconds too, as signed numbers: from 1952 to 2087. */
const EPOCH = 1_577_836_800

interface Box {
  readonly id: number
  readonly key: string
  last: number
}

/**
 * Adds what was seen, a row for each second; a camera that sees the same as in the second before has one row for all of them. `newest` keeps
 * the last row of each pipeline, so that no query is needed for it.
 */
export const addSeen = async (client: Client, segments: readonly Segment[], newest: Map<string, Box>): Promise<void> => {
  const transaction = await client.transaction('write')
  try {
    for (const { pipeline_id, seen } of segments) {
      for (const second of seen) {
        const key = boxOf(second).join(' ')
        const before = newest.get(pipeline_id)
        if (before?.key === key && (second.second === before.last + 1 || second.second === before.last)) {
          before.last = second.second
          await transaction.execute({ sql: 'UPDATE seen SET last_second = ? WHERE id = ?', args: [before.last - EPOCH, before.id] })
          continue
        }
        const at = second.second - EPOCH
        const { lastInsertRowid } = await transaction.execute({
          sql: 'INSERT INTO seen (south, north, west, east, first_second, last_second, pipeline_id) VALUES (?, ?, ?, ?, ?, ?, ?)',
          args: [...boxOf(second), at, at, pipeline_id],
        })
        newest.set(pipeline_id, { id: Number(lastInsertRowid), key, last: second.second })
      }
    }
    await transaction.commit()
  } finally {
    transaction.close()
  }
}

const boxOf = ({ south, north, west, east }: SecondSeen): readonly [number, number, number, number] => [
  Math.floor(south * UNITS),
  Math.ceil(north * UNITS),
  Math.floor(west * UNITS),
  Math.ceil(east * UNITS),
]

interface SeenQuery {
  readonly latitude: number
  readonly longitude: number
  readonly pipelineId?: string | undefined
  /** Seconds since the epoch, both included. */
  readonly first: number
  readonly last: number
}

/** When which camera saw a place; in any order. */
export const whoSaw = async (
  client: Client,
  { latitude, longitude, pipelineId, first, last }: SeenQuery,
): Promise<readonly SeenSeconds[]> => {
  const sql = `SELECT pipeline_id, first_second, last_second FROM seen WHERE south <= ?1 AND north >= ?1 AND west <= ?2 AND east >= ?2
    AND first_second <= ?3 AND last_second >= ?4 ${pipelineId === undefined ? '' : 'AND pipeline_id = ?5'}`
  const place = [Math.round(latitude * UNITS), Math.round(longitude * UNITS)]
  const args = [...place, bounded(last - EPOCH), bounded(first - EPOCH), ...(pipelineId === undefined ? [] : [pipelineId])]
  const { rows } = await client.execute({ sql, args })
  return rows.map((row) => ({
    pipeline_id: String(row.pipeline_id),
    first: Number(row.first_second) + EPOCH,
    last: Number(row.last_second) + EPOCH,
  }))
}

/** Forgets what a pipeline saw before a time, seconds since the epoch. */
export const forgetSeen = async (client: Client, pipelineId: string, before: number): Promise<void> => {
  await client.execute({ sql: 'DELETE FROM seen WHERE last_second < ? AND pipeline_id = ?', args: [bounded(before - EPOCH), pipelineId] })
}

const bounded = (seconds: number): number => Math.max(-(2 ** 31), Math.min(2 ** 31 - 1, Math.floor(seconds)))
