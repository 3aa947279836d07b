import { isRecord } from '../json/is-record.ts'

/** The body of create or replace with its mode, where `source` or `raw_pipeline` says it. */
export const withMode = (body: unknown): unknown => {
  if (!isRecord(body) || body.mode !== undefined) return body
  const isSimple = body.source !== undefined
  return { ...body, mode: isSimple === (body.raw_pipeline !== undefined) ? null : isSimple ? 'simple' : 'advanced' }
}
