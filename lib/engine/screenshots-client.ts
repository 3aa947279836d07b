import { ApiError } from '../errors.ts'
import type { JpegAnswer, Screenshots } from '../ports.ts'
import type { PipelineView } from '../schema/pipeline.ts'
import type { ScreenshotFile } from '../schema/screenshot.ts'
import { type EngineCaller, engineUnavailable, toApiError } from './client.ts'
import { shareReads } from './shared-reads.ts'

/** Longest wait, milliseconds: for a picture that has to wait for its turn, for a file to be read to its end, for many files to be deleted. */
const SNAPSHOT_MS = 30_000
const FILE_MS = 120_000
const LIST_MS = 30_000
const DELETE_MS = 120_000

/** The Pictures port over HTTP. Every method throws the engine's ApiError, or SERVICE_UNAVAILABLE. */
export const createScreenshotsClient = ({ call, open }: EngineCaller): Screenshots => {
  const pipeline = (id: string): string => `/pipelines/${encodeURIComponent(id)}`
  const file = (name: string): string => `/screenshots/${encodeURIComponent(name)}`
  const picture = async (path: string, timeoutMs: number): Promise<JpegAnswer> => {
    try {
      const response = await open('GET', path, undefined, AbortSignal.timeout(timeoutMs))
      if (!response.ok) throw toApiError(await response.json())
      return { headers: response.headers, body: response.body }
    } catch (error) {
      throw error instanceof ApiError ? error : engineUnavailable(error)
    }
  }
  // Many who ask at once get the same bytes: the engine is asked once, and the picture is in memory once.
  const snapshot = shareReads(async (path): Promise<JpegAnswer> => {
    const { headers, body } = await picture(path, SNAPSHOT_MS)
    return { headers, body: await bytesOf(body) }
  })
  return {
    start: (id, wish, { resume }) => call<PipelineView>('POST', `${pipeline(id)}/screenshots/start${resume ? '?resume' : ''}`, wish),
    stop: (id) => call<PipelineView>('POST', `${pipeline(id)}/screenshots/stop`),
    locate: async (id, geolocation) => {
      await call('PUT', `${pipeline(id)}/geolocation`, { geolocation })
    },
    snapshot: (id, format) => snapshot(`${pipeline(id)}/snapshot${queryOf(format)}`),
    list: (query) => call<readonly ScreenshotFile[]>('GET', `/screenshots${queryOf(query)}`, undefined, LIST_MS),
    read: (name) => picture(file(name), FILE_MS),
    remove: async (name) => {
      await call('DELETE', file(name), undefined, DELETE_MS)
    },
    removeOf: async (pipeline_id) =>
      (await call<{ deleted: number }>('DELETE', `/screenshots${queryOf({ pipeline_id })}`, undefined, DELETE_MS)).deleted,
  }
}

const bytesOf = async (body: JpegAnswer['body']): Promise<Uint8Array<ArrayBuffer>> => {
  try {
    return new Uint8Array(await new Response(body).arrayBuffer())
  } catch (error) {
    throw engineUnavailable(error)
  }
}

const queryOf = (values: Readonly<Record<string, string | number | undefined>>): string => {
  const given = Object.entries(values).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]]))
  return given.length === 0 ? '' : `?${new URLSearchParams(given)}`
}
