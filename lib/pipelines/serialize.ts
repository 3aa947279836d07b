import { type AgedView, aged } from '../engine/mirror.ts'
import type { PipelineRecord } from '../repositories/repositories.ts'
import { isAtRest, type PipelineView } from '../schema/pipeline.ts'
import { etagOfPipeline, idleView, represent } from './representation.ts'

/** A pipeline with its view. */
export interface FoundPipeline extends AgedView {
  readonly record: PipelineRecord
}

/** The JSON of a pipeline at rest, around the only value that changes by itself. */
interface Text {
  readonly record: PipelineRecord
  readonly before: string
  readonly ageMs: number | null
  readonly after: string
}

const texts = new WeakMap<PipelineView, Text>()

const AGE = '"last_frame_age_ms":'

/** The JSON of a pipeline; cached while it is at rest and neither record nor view changes. */
export const serialize = (found: FoundPipeline): string => {
  const { record, view, agedMs } = found
  if (!isAtRest(view)) return JSON.stringify(represent(record, aged(found)))
  const known = texts.get(view)
  const text = known?.record === record ? known : describe(record, view)
  if (text !== known) texts.set(view, text)
  return text.ageMs === null ? text.before : `${text.before}${text.ageMs + agedMs}${text.after}`
}

/** Whether the JSON of a pipeline with this view stays the same until its record or its view changes. */
export const hasLastingText = (view: PipelineView): boolean => isAtRest(view) && view.runtime.last_frame_age_ms === null

const describe = (record: PipelineRecord, view: PipelineView): Text => {
  const json = JSON.stringify(represent(record, view))
  const ageMs = view.runtime.last_frame_age_ms
  if (ageMs === null) return { record, before: json, ageMs, after: '' }
  // Inside a string the quotes are escaped, so this is the field.
  const begin = json.indexOf(AGE) + AGE.length
  return { record, before: json.slice(0, begin), ageMs, after: json.slice(begin + String(ageMs).length) }
}

const etags = new WeakMap<PipelineRecord, Promise<string>>()

/** The ETag of a stored pipeline, as `etagOfPipeline`. */
export const etagOfRecord = (record: PipelineRecord): Promise<string> => {
  const known = etags.get(record)
  if (known !== undefined) return known
  const etag = etagOfPipeline(represent(record, idleView(record)))
  etags.set(record, etag)
  return etag
}
