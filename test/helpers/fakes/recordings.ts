import type { Engine, Recordings } from '../../../lib/engine/protocol.ts'
import { ApiError } from '../../../lib/errors.ts'
import type { RecordedSpan } from '../../../lib/segments/spans.ts'
import { fakeFile } from './file-answer.ts'
import { klvPacket } from './klv.ts'
import { JPEG_BYTES } from './screenshots.ts'

/** Recordings without media: which pipelines are recorded is kept. */
export interface FakeRecordings extends Recordings {
  readonly recorded: Set<string>
  spans: readonly RecordedSpan[]
  /** What the lists were asked for. */
  readonly queries: object[]
}

export const createFakeRecordings = (engine: Engine): FakeRecordings => {
  const spanOf = (id: string): RecordedSpan => {
    const found = fake.spans.find(({ pipeline_id }) => pipeline_id === id)
    if (found === undefined) throw new ApiError('NOT_FOUND', 'Nothing of this time is recorded.', { reason: 'no_recording' })
    return found
  }
  const bytesOf = (id: string, bytes: Uint8Array): Uint8Array => {
    spanOf(id)
    return bytes
  }
  const fake: FakeRecordings = {
    recorded: new Set(),
    spans: [],
    queries: [],
    start: async (id) => {
      const view = await engine.view(id)
      fake.recorded.add(id)
      const state = view.state === 'playing' ? 'recording' : 'waiting'
      return { ...view, recording: { state, since: '2026-11-20T10:00:00.000Z', last_error: null } }
    },
    stop: async (id) => {
      fake.recorded.delete(id)
      return engine.view(id)
    },
    list: async (query) => {
      fake.queries.push(query)
      return fake.spans.filter(({ pipeline_id: id }) => query.pipeline_id === undefined || id === query.pipeline_id).slice(0, query.limit)
    },
    removeBefore: async ({ pipeline_id, before }) => {
      const removed = fake.spans.filter((span) => span.pipeline_id === pipeline_id && span.to <= before)
      fake.spans = fake.spans.filter((span) => !removed.includes(span))
      return { deleted: removed.length, bytes: removed.reduce((sum, { bytes }) => sum + bytes, 0) }
    },
    key: async () => '-----BEGIN PUBLIC KEY-----\n-----END PUBLIC KEY-----\n',
    range: async (id, { range }) => fakeFile(bytesOf(id, TRANSPORT), range),
    movie: async (id, { range }) => fakeFile(bytesOf(id, MOVIE), range),
    file: async (id, _name, { range }) => fakeFile(bytesOf(id, TRANSPORT), range),
    playlist: async (id) => {
      spanOf(id)
      return '#EXTM3U\n#EXT-X-ENDLIST\n'
    },
    picture: async (id, { at }) => {
      spanOf(id)
      const created = new Date(at)
      const headers = { etag: `"${at}"`, 'last-modified': created.toUTCString(), 'x-created-at': created.toISOString() }
      return { headers: new Headers(headers), body: JPEG_BYTES }
    },
    klv: async (id, { at }) => {
      spanOf(id)
      return { ...klvPacket(id, 48.5), received_at: new Date(at).toISOString() }
    },
    footprint: async (id) => {
      spanOf(id)
      const ring = [
        [11, 48],
        [12, 48],
        [11, 49],
        [11, 48],
      ]
      return { type: 'Feature', geometry: { type: 'Polygon', coordinates: [ring] }, properties: { method: 'corners', pipeline_id: id } }
    },
  }
  return fake
}

const TRANSPORT: Uint8Array = new Uint8Array(2 * 188).fill(0x47)
/** A box of the type `ftyp`, and nothing in it. */
const MOVIE: Uint8Array = Buffer.from('\0\0\0\x08ftyp')
