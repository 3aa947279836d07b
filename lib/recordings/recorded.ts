import type { FileAnswer, JpegAnswer } from '../engine/call.ts'
import type { Recordings } from '../engine/protocol.ts'
import type { KlvFootprintRecord, KlvPacketRecord } from '../schema/klv.ts'
import { readPlace } from '../segments/place.ts'
import {
  MAX_SPANS,
  momentQuerySchema,
  rangeQuerySchema,
  recordedKlvQuerySchema,
  recordingsDeleteSchema,
  recordingsQuerySchema,
} from '../segments/queries.ts'
import { validate } from '../validate.ts'

type Query = Readonly<Record<string, unknown>>
type Has<Method extends keyof Recordings> = { readonly recordings: Pick<Recordings, Method> }

/** A day of the year 9999, which no query is beyond. */
const END_OF_TIME = Date.parse('9999-12-31T00:00:00Z')

/** A page of spans, the newest first. */
export const listRecordings = async ({ recordings }: Has<'list'>, query: Query) => {
  const { pipeline_id, from, to, before, limit = MAX_SPANS, covers } = validate(recordingsQuerySchema, query, 'query')
  const times = { from: timeOr(from, 0), to: timeOr(to, END_OF_TIME), before: timeOr(before, END_OF_TIME) }
  const place = covers === undefined ? {} : readPlace(covers)
  const spans = await recordings.list({ pipeline_id, ...times, limit, ...place })
  const represented = spans.map(({ from: begin, to: end, ...span }) => ({
    pipeline_id: span.pipeline_id,
    from: new Date(begin).toISOString(),
    to: new Date(end).toISOString(),
    bytes: span.bytes,
    tracks: span.tracks,
  }))
  return { spans: represented, limit }
}

/** Deletes what a pipeline recorded before a time; the pipeline may be deleted itself. */
export const deleteRecordings = ({ recordings }: Has<'removeBefore'>, query: Query) => {
  const { pipeline_id, before } = validate(recordingsDeleteSchema, query, 'query')
  return recordings.removeBefore({ pipeline_id, before: Date.parse(before) })
}

interface Part {
  /** That of the request. */
  readonly range: string | null
  readonly signal: AbortSignal
}

/** A range as one MPEG-TS. */
export const readRecording = ({ recordings }: Has<'range'>, id: string, query: Query, part: Part): Promise<FileAnswer> =>
  recordings.range(id, partOf(query, part), part.signal)

/** A range as MP4; CONFLICT with `details.reason` codec_change where codec or size of the video change. */
export const readRecordingAsMp4 = ({ recordings }: Has<'movie'>, id: string, query: Query, part: Part): Promise<FileAnswer> =>
  recordings.movie(id, partOf(query, part), part.signal)

/** A range as an HLS playlist. */
export const recordingPlaylist = ({ recordings }: Has<'playlist'>, id: string, query: Query): Promise<string> =>
  recordings.playlist(id, rangeOf(query))

/** The picture of a moment. */
export const recordedPicture = ({ recordings }: Has<'picture'>, id: string, query: Query): Promise<JpegAnswer> =>
  recordings.picture(id, { at: Date.parse(validate(momentQuerySchema, query, 'query').at) })

type RecordedKlv =
  | { readonly format: 'json'; readonly packet: KlvPacketRecord }
  | { readonly format: 'footprint'; readonly feature: KlvFootprintRecord }

/** The KLV packet of a moment, or its footprint; NOT_FOUND with `details.reason` no_klv or no_footprint where there is none. */
export const recordedKlv = async ({ recordings }: Has<'klv' | 'footprint'>, id: string, query: Query): Promise<RecordedKlv> => {
  const { at: time, format } = validate(recordedKlvQuerySchema, query, 'query')
  const at = Date.parse(time)
  if (format === 'json') return { format, packet: await recordings.klv(id, { at }) }
  return { format, feature: await recordings.footprint(id, { at }) }
}

const timeOr = (text: string | undefined, otherwise: number): number => (text === undefined ? otherwise : Date.parse(text))

const partOf = (query: Query, { range }: Part) => ({ ...rangeOf(query), ...(range !== null && { range }) })

const rangeOf = (query: Query) => {
  const { from, to } = validate(rangeQuerySchema, query, 'query')
  return { from: Date.parse(from), to: Date.parse(to) }
}
