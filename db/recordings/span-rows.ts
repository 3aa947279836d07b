import type { Client, Row } from '@libsql/client'
import type { RecordedSpan } from '../../lib/segments/spans.ts'

export interface SpanQuery {
  readonly pipelineId?: string | undefined
  /** Milliseconds since the epoch. */
  readonly from: number
  readonly to: number
  /** Only spans that begin before, cut to the range. */
  readonly before: number
  /** More are answered where several begin at once. */
  readonly limit: number
}

const WHERE = 'started_at < ?2 AND ended_at > ?1 AND max(started_at, ?1) < ?3'

/** The newest spans of a range, cut to it, the newest first. */
export const spansIn = async (client: Client, { pipelineId, from, to, before, limit }: SpanQuery): Promise<readonly RecordedSpan[]> => {
  const where = pipelineId === undefined ? WHERE : `${WHERE} AND pipeline_id = ?5`
  const sql = `WITH found AS (SELECT pipeline_id, span, max(started_at, ?1) AS began, started_at, ended_at, bytes, tracks FROM spans WHERE ${where})
    SELECT * FROM found WHERE began >= coalesce((SELECT began FROM found ORDER BY began DESC LIMIT 1 OFFSET ?4 - 1), 0)
    ORDER BY began DESC, pipeline_id`
  const args = [from, to, before, limit, ...(pipelineId === undefined ? [] : [pipelineId])]
  const { rows } = await client.execute({ sql, args })
  const spans: RecordedSpan[] = []
  for (const row of rows) spans.push(await cut(client, row, from, to))
  return spans
}

const cut = async (client: Client, row: Row, from: number, to: number): Promise<RecordedSpan> => {
  const [startedAt, endedAt] = [Number(row.started_at), Number(row.ended_at)]
  const whole = startedAt >= from && endedAt <= to
  const pipelineId = String(row.pipeline_id)
  return {
    pipeline_id: pipelineId,
    from: Math.max(startedAt, from),
    to: Math.min(endedAt, to),
    bytes: whole ? Number(row.bytes) : await bytesIn(client, pipelineId, Number(row.span), from, to),
    tracks: JSON.parse(String(row.tracks)) as string[],
  }
}

/** Bytes of the segments of a span that have something of a range: from the first and the last one alone, however many there are. */
export const bytesIn = async (client: Client, pipelineId: string, span: number, from: number, to: number): Promise<number> => {
  const sql = `SELECT coalesce((SELECT bytes_before + bytes FROM segments INDEXED BY segments_by_span WHERE pipeline_id = ?1 AND span = ?2 AND started_at < ?4 ORDER BY started_at DESC LIMIT 1)
    - coalesce((SELECT bytes_before FROM segments INDEXED BY segments_by_span WHERE pipeline_id = ?1 AND span = ?2 AND started_at <= ?3 ORDER BY started_at DESC LIMIT 1),
      (SELECT bytes_before FROM segments INDEXED BY segments_by_span WHERE pipeline_id = ?1 AND span = ?2 ORDER BY started_at LIMIT 1)), 0) AS bytes`
  const { rows } = await client.execute({ sql, args: [pipelineId, span, from, to] })
  return Number(rows[0]?.bytes)
}
