import type { Client, InStatement } from '@libsql/client'
import type { Segment } from '../../lib/segments/segment.ts'

/** A segment as the index has it; `bytes_before`: of its span, before it. */
export type SegmentRow = Omit<Segment, 'seen'> & { readonly bytes_before: number }

const COLUMNS = 'pipeline_id, started_at, ended_at, bytes, bytes_before, tracks, span, run, first_dts, counts, format'

const JSON_COLUMNS = COLUMNS.split(', ')
  .map((name) => `'${name}', ${name === 'tracks' || name === 'counts' ? `json(${name})` : name}`)
  .join(', ')

const INSERT = `INSERT OR REPLACE INTO segments (${COLUMNS}) VALUES (?1, ?2, ?3, ?4, coalesce((
  SELECT bytes_before + bytes FROM segments INDEXED BY segments_by_span WHERE pipeline_id = ?1 AND span = ?6 AND started_at < ?2 ORDER BY started_at DESC LIMIT 1), 0), ?5, ?6, ?7, ?8, ?9, ?10)`

const EXTEND_SPAN = `INSERT INTO spans (pipeline_id, span, started_at, ended_at, bytes, tracks) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
  ON CONFLICT DO UPDATE SET started_at = min(started_at, ?3), ended_at = max(ended_at, ?4), bytes = bytes + ?5, tracks = ?6`

/** After a removal, or an insertion before others. */
const RECOUNT = [
  `UPDATE segments SET bytes_before = counted.before FROM (SELECT started_at, sum(bytes) OVER (ORDER BY started_at) - bytes AS before
    FROM segments WHERE pipeline_id = ?1 AND span = ?2) AS counted
    WHERE pipeline_id = ?1 AND span = ?2 AND segments.started_at = counted.started_at`,
  `INSERT OR REPLACE INTO spans (pipeline_id, span, started_at, ended_at, bytes, tracks)
    SELECT pipeline_id, span, min(started_at), max(ended_at), sum(bytes), max(tracks) FROM segments WHERE pipeline_id = ?1 AND span = ?2
    GROUP BY pipeline_id, span`,
] as const

/** What is removed comes first: the rest of the span begins with its oldest segment. */
const SHORTEN_SPAN = `UPDATE spans SET bytes = bytes - ?3, started_at = coalesce((SELECT started_at FROM segments
  WHERE pipeline_id = ?1 AND span = ?2 ORDER BY started_at LIMIT 1), started_at) WHERE pipeline_id = ?1 AND span = ?2`
const DROP_EMPTY_SPAN =
  'DELETE FROM spans WHERE pipeline_id = ?1 AND span = ?2 AND NOT EXISTS (SELECT 1 FROM segments WHERE pipeline_id = ?1 AND span = ?2)'

/** Adds segments, or replaces them. */
export const addSegments = async (client: Client, segments: readonly Segment[]): Promise<void> => {
  const statements: InStatement[] = []
  const recounted = new Map<string, readonly [string, number]>()
  for (const segment of segments) {
    const { pipeline_id, started_at, ended_at, bytes, tracks, span, run, first_dts, counts, format } = segment
    const names = JSON.stringify(tracks)
    const { rows } = await client.execute({
      sql: 'SELECT 1 FROM segments WHERE pipeline_id = ? AND span = ? AND started_at >= ? LIMIT 1',
      args: [pipeline_id, span, started_at],
    })
    statements.push({
      sql: INSERT,
      args: [pipeline_id, started_at, ended_at, bytes, names, span, run, first_dts, JSON.stringify(counts), format],
    })
    if (rows.length > 0) recounted.set(`${pipeline_id} ${span}`, [pipeline_id, span])
    else statements.push({ sql: EXTEND_SPAN, args: [pipeline_id, span, started_at, ended_at, bytes, names] })
  }
  for (const args of recounted.values()) statements.push(...RECOUNT.map((sql) => ({ sql, args: [...args] })))
  await client.batch(statements, 'write')
}

/** What is left of a span after one of its segments begins a span of its own. */
const SPLIT_SPAN = `UPDATE segments SET span = (SELECT min(started_at) FROM segments WHERE pipeline_id = ?1 AND span = ?2 AND started_at > ?3)
  WHERE pipeline_id = ?1 AND span = ?2 AND started_at > ?3`

const OF_SPAN = `SELECT (SELECT min(started_at) FROM segments WHERE pipeline_id = ?1 AND span = ?2) AS first,
  (SELECT min(started_at) FROM segments WHERE pipeline_id = ?1 AND span = ?2 AND started_at > ?3) AS next`

/** Removes segments. */
export const removeSegments = async (client: Client, pipelineId: string, startedAt: readonly number[]): Promise<void> => {
  for (const at of startedAt) {
    const { rows } = await client.execute({
      sql: 'SELECT span, bytes FROM segments WHERE pipeline_id = ? AND started_at = ?',
      args: [pipelineId, at],
    })
    if (rows[0] !== undefined) await removeSegment(client, pipelineId, at, Number(rows[0].span), Number(rows[0].bytes))
  }
}

const removeSegment = async (client: Client, pipelineId: string, at: number, span: number, bytes: number): Promise<void> => {
  const [around] = (await client.execute({ sql: OF_SPAN, args: [pipelineId, span, at] })).rows
  const remove = { sql: 'DELETE FROM segments WHERE pipeline_id = ? AND started_at = ?', args: [pipelineId, at] }
  const dropEmpty = { sql: DROP_EMPTY_SPAN, args: [pipelineId, span] }
  if (Number(around?.first) === at) {
    await client.batch([remove, { sql: SHORTEN_SPAN, args: [pipelineId, span, bytes] }, dropEmpty], 'write')
    return
  }
  const recount = (of: number): InStatement[] => RECOUNT.map((sql) => ({ sql, args: [pipelineId, of] }))
  const next = around?.next === null ? undefined : Number(around?.next)
  const split = next === undefined ? [] : [{ sql: SPLIT_SPAN, args: [pipelineId, span, at] }, ...recount(next)]
  await client.batch([remove, ...split, ...recount(span), dropEmpty], 'write')
}

/** Where the clock of the host was set back, segments before the last one may last longer; they are at most a minute and a GOP long. */
const OVERLAP_MS = 120_000

/**
 * The segments of a pipeline that have something of a range, the oldest first, as the JSON of SegmentRow[]: an hour has 900, which the driver
 * would make objects of in ten times the time.
 */
export const segmentsIn = async (client: Client, pipelineId: string, from: number, to: number): Promise<string> => {
  const sql = `SELECT json_group_array(json_object(${JSON_COLUMNS}) ORDER BY started_at) AS segments FROM segments WHERE pipeline_id = ?1 AND started_at >= min(?2 - ${OVERLAP_MS}, coalesce((
    SELECT started_at FROM segments WHERE pipeline_id = ?1 AND started_at <= ?2 ORDER BY started_at DESC LIMIT 1), ?2))
    AND started_at <= ?3 AND ended_at > ?2`
  return String((await client.execute({ sql, args: [pipelineId, from, to] })).rows[0]?.segments)
}

/** When the segments of a pipeline began that began in a range. */
export const startsIn = async (client: Client, pipelineId: string, from: number, to: number): Promise<readonly number[]> => {
  const sql = 'SELECT started_at FROM segments WHERE pipeline_id = ? AND started_at >= ? AND started_at < ? ORDER BY started_at'
  return (await client.execute({ sql, args: [pipelineId, from, to] })).rows.map((row) => Number(row.started_at))
}

/** When the recordings of each pipeline begin. */
export const oldestSegments = async (
  client: Client,
  limit: number,
  pipelineId?: string,
): Promise<readonly Pick<SegmentRow, 'pipeline_id' | 'started_at' | 'ended_at' | 'bytes'>[]> => {
  const where = pipelineId === undefined ? '' : 'WHERE pipeline_id = ?2'
  const sql = `SELECT pipeline_id, started_at, ended_at, bytes FROM segments ${where} ORDER BY started_at LIMIT ?1`
  const { rows } = await client.execute({ sql, args: pipelineId === undefined ? [limit] : [limit, pipelineId] })
  return rows.map((row) => ({
    pipeline_id: String(row.pipeline_id),
    started_at: Number(row.started_at),
    ended_at: Number(row.ended_at),
    bytes: Number(row.bytes),
  }))
}

export const pipelinesRecorded = async (client: Client): Promise<readonly string[]> =>
  (await client.execute('SELECT DISTINCT pipeline_id FROM spans')).rows.map((row) => String(row.pipeline_id))

const DAY_MS = 86_400_000

/** The days (UTC, begin, milliseconds since the epoch) in which segments of a pipeline began: a look at the index for each. */
export const daysRecorded = async (client: Client, pipelineId: string): Promise<readonly number[]> => {
  const next = `(SELECT min(started_at) FROM segments WHERE pipeline_id = ?1 AND started_at >= day * ${DAY_MS} + ${DAY_MS})`
  const sql = `WITH RECURSIVE days (day) AS (SELECT min(started_at) / ${DAY_MS} FROM segments WHERE pipeline_id = ?1
    UNION ALL SELECT ${next} / ${DAY_MS} FROM days WHERE day IS NOT NULL) SELECT day FROM days WHERE day IS NOT NULL`
  return (await client.execute({ sql, args: [pipelineId] })).rows.map((row) => Number(row.day) * DAY_MS)
}

/** Bytes of all segments. */
export const totalBytes = async (client: Client): Promise<number> =>
  Number((await client.execute('SELECT coalesce(sum(bytes), 0) AS total FROM spans')).rows[0]?.total)
