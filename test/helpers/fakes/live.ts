import type { Engine, Live } from '../../../lib/engine/protocol.ts'
import { ApiError } from '../../../lib/errors.ts'
import { fakeFile } from './file-answer.ts'

/** Live video without media: a few bytes, then whatever a test sends. */
export interface FakeLive extends Live {
  /** What the next streams are refused with. */
  refusal: ApiError | undefined
  /** Whether a stream ends after its first bytes. */
  endless: boolean
  /** What the next streams wait for before they begin, as for a pipeline that starts. */
  start: Promise<void> | undefined
  /** Streams that are open. */
  open: number
  /** Who asked for a playlist. */
  readonly clients: Set<string>
  /** How sessions by WebRTC were offered. */
  readonly offers: Parameters<Live['openSession']>[1][]
  /** How many chunks were taken from all streams. */
  taken: number
}

const record = (kind: number, payload: string): Uint8Array => {
  const bytes = new Uint8Array(13 + payload.length)
  new DataView(bytes.buffer).setUint32(9, payload.length)
  bytes[0] = kind
  bytes.set(new TextEncoder().encode(payload), 13)
  return bytes
}

/** A record of kind 1. */
export const FIRST_BYTES = record(1, '{"codec":"avc1.42C01E","codedWidth":640,"codedHeight":360}')

export const FAKE_SESSION = '5f0e'
export const FAKE_ANSWER = 'v=0\r\n'
const noSession = () => new ApiError('NOT_FOUND', 'There is no such session.', { reason: 'no_session' })

/** A null packet. */
export const TRANSPORT_PACKET = Uint8Array.of(0x47, 0x1f, 0xff, 0x10, ...new Array<number>(184).fill(0))
const CHUNK = new Uint8Array(64 * 1024)

export const createFakeLive = (engine: Engine): FakeLive => {
  const open = async (id: string, signal: AbortSignal, bytes: Uint8Array): Promise<ReadableStream<Uint8Array>> => {
    signal.throwIfAborted()
    const { state } = await engine.view(id)
    if (fake.refusal !== undefined) throw fake.refusal
    if (fake.start !== undefined) await untilStarted(fake.start, signal)
    if (state !== 'playing') throw notPlaying(id)
    fake.open += 1
    let first = true
    let ended = false
    const end = (): void => {
      if (!ended) fake.open -= 1
      ended = true
    }
    return new ReadableStream<Uint8Array>(
      {
        start: (controller) =>
          signal.addEventListener('abort', () => {
            if (!ended) controller.error(new Error('aborted'))
            end()
          }),
        pull: (controller) => {
          fake.taken += 1
          if (!first && !fake.endless) {
            end()
            controller.close()
          } else controller.enqueue(first ? bytes : CHUNK)
          first = false
        },
        cancel: end,
      },
      { highWaterMark: 0 },
    )
  }
  const requirePlaying = async (id: string): Promise<void> => {
    if (fake.refusal !== undefined) throw fake.refusal
    if ((await engine.view(id)).state !== 'playing') throw notPlaying(id)
  }
  const fake: FakeLive = {
    clients: new Set(),
    offers: [],
    refusal: undefined,
    endless: false,
    start: undefined,
    open: 0,
    taken: 0,
    video: (id, _query, signal) => open(id, signal, FIRST_BYTES),
    openSession: async (id, offer) => {
      fake.offers.push(offer)
      const { state } = await engine.view(id)
      if (fake.refusal !== undefined) throw fake.refusal
      if (state !== 'playing') throw new ApiError('CONFLICT', `The pipeline ${id} is not playing.`, { reason: 'not_playing' })
      fake.open += 1
      return { session: FAKE_SESSION, etag: '"ice"', answer: FAKE_ANSWER }
    },
    addCandidates: async (_id, session, { if_match }) => {
      if (session !== FAKE_SESSION) throw noSession()
      if (if_match === null) throw new ApiError('PRECONDITION_REQUIRED', 'Send If-Match.')
    },
    closeSession: async (_id, session) => {
      if (session !== FAKE_SESSION || fake.open === 0) throw noSession()
      fake.open -= 1
    },
    ts: (id, _start, signal) => open(id, signal, TRANSPORT_PACKET),
    playlist: async (id, { client }) => {
      await requirePlaying(id)
      fake.clients.add(client)
      return '#EXTM3U\n#EXT-X-TARGETDURATION:2\n#EXTINF:2,\nlive/1.ts\n'
    },
    segment: async (id, name, { range }) => {
      await requirePlaying(id)
      if (name !== '1.ts') throw new ApiError('NOT_FOUND', 'There is no such segment.', { reason: 'no_segment' })
      return fakeFile(TRANSPORT_PACKET, range)
    },
  }
  return fake
}

const notPlaying = (id: string) => new ApiError('CONFLICT', `The pipeline ${id} is not playing.`, { reason: 'not_playing' })

const untilStarted = (start: Promise<void>, signal: AbortSignal): Promise<void> =>
  new Promise((resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason))
    start.then(resolve, reject)
  })
