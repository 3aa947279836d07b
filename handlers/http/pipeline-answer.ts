import { etagOfPipeline, type PipelineRepresentation } from '../../lib/pipelines/representation.ts'
import { type FoundPipeline, hasLastingText, serialize } from '../../lib/pipelines/serialize.ts'
import { json, jsonArray, readyHeaders } from './respond.ts'
import type { ReadyAnswer } from './route.ts'

/** A pipeline with the ETag of its configuration and geolocation. */
export const pipelineAnswer = async (
  pipeline: PipelineRepresentation,
  status = 200,
  headers: Readonly<Record<string, string>> = {},
): Promise<Response> => json(pipeline, status, { ...headers, etag: await etagOfPipeline(pipeline) })

/**
 * Answers of lists. The last list is kept as bytes and is the answer again while it is of the same pipelines, none runs, and none has
 * changed: records and views are replaced, never changed.
 */
export const createListAnswer = (): ((found: readonly FoundPipeline[]) => ReadyAnswer) => {
  const headers = readyHeaders()
  let last: { readonly found: readonly FoundPipeline[]; readonly body: Uint8Array<ArrayBuffer> } | undefined
  return (found) => {
    if (last !== undefined && isSameList(last.found, found)) return { headers, body: last.body }
    const body = jsonArray(found, serialize)
    if (typeof body !== 'string' || !found.every(({ view }) => hasLastingText(view))) return { headers, body }
    last = { found, body: new TextEncoder().encode(body) }
    return { headers, body: last.body }
  }
}

const isSameList = (one: readonly FoundPipeline[], other: readonly FoundPipeline[]): boolean =>
  one.length === other.length && one.every(({ record, view }, at) => record === other[at]?.record && view === other[at]?.view)
