import { Readable } from 'node:stream'
import { setTimeout } from 'node:timers/promises'
import type { Address } from '../faults/address.ts'
import { Fault } from '../faults/fault.ts'
import { inTurns, piecesInTurns } from '../fetch/in-turns.ts'
import { type Fetched, HlsClient } from './hls-client.ts'
import { type Playlist, parsePlaylist } from './playlist.ts'
import { chooseVariant, dueSegments, reloadSeconds } from './schedule.ts'
import { SegmentReader } from './segment-reader.ts'

type MediaPlaylist = Extract<Playlist, { readonly kind: 'media' }>

export const MAX_PLAYLIST_BYTES = 8 * 1024 * 1024
const PLAYLIST_MS = 10_000
/** Requests for a playlist that may fail one after the other. */
const MAX_FAILURES = 5

interface OpenHls {
  /** The segments one after the other; read as fast as they are taken. Its error is a Fault. */
  readonly stream: Readable
  readonly format: 'mpegts' | 'mp4'
}

/** Opens an HLS source by its playlist, which has been fetched. `source`: its address, with credentials; `signal` ends all requests. Throws Fault. */
export const openHls = async (source: Address, first: Fetched, signal: AbortSignal): Promise<OpenHls> => {
  const over = new AbortController()
  signal.addEventListener('abort', () => over.abort(signal.reason), { once: true, signal: over.signal })
  const client = new HlsClient(source, over.signal)
  try {
    const location = await mediaPlaylistOf(first, client)
    const [segment] = location.playlist.segments
    const segments = new SegmentReader(client)
    return {
      stream: readable(readSegments({ ...location, client, segments, signal: over.signal }), over),
      format: segment?.map === undefined ? 'mpegts' : 'mp4',
    }
  } catch (error) {
    over.abort()
    throw error
  }
}

interface Located {
  readonly playlist: MediaPlaylist
  readonly fetched: Fetched
}

/** The playlist itself, or that of its best variant. */
const mediaPlaylistOf = async (first: Fetched, client: HlsClient): Promise<Located> => {
  const parsed = await parse(first)
  if (parsed.kind === 'media') return { playlist: parsed, fetched: first }
  const variant = chooseVariant(parsed.variants)
  if (variant === undefined) throw new Fault('source_error', `${first.address.shown} has no variant.`)
  const fetched = await client.fetch({ uri: variant.uri, maxBytes: MAX_PLAYLIST_BYTES, timeoutMs: PLAYLIST_MS }, first)
  const playlist = await parse(fetched)
  if (playlist.kind !== 'media') throw new Fault('source_error', `${fetched.address.shown} is a playlist of playlists again.`)
  return { playlist, fetched }
}

const parse = async ({ bytes, address }: Fetched): Promise<Playlist> => {
  const playlist = await inTurns(parsePlaylist(bytes.toString('utf8')))
  if (playlist === undefined) throw new Fault('source_error', `${address.shown} is no playlist that can be read.`)
  return playlist
}

interface Reading extends Located {
  readonly client: HlsClient
  readonly segments: SegmentReader
  readonly signal: AbortSignal
}

async function* readSegments({ client, segments, signal, ...start }: Reading): AsyncGenerator<Buffer> {
  let { playlist, fetched } = start
  let next: number | undefined
  for (;;) {
    const due = dueSegments(playlist, next)
    for (const [at, segment] of due.segments.entries()) {
      yield* piecesInTurns(segments.read(segment, { playlist: fetched, restarted: due.restarted && at === 0 }))
      next = segment.sequence + 1
    }
    if (playlist.ended) return
    await setTimeout(reloadSeconds(playlist, due.segments.length > 0) * 1000, undefined, { signal })
    fetched = await reload(client, fetched, signal)
    const parsed = await parse(fetched)
    if (parsed.kind === 'media') playlist = parsed
  }
}

const reload = async (client: HlsClient, before: Fetched, signal: AbortSignal): Promise<Fetched> => {
  for (let failures = 1; ; failures += 1) {
    try {
      return await client.fetch({ uri: before.address.bare, maxBytes: MAX_PLAYLIST_BYTES, timeoutMs: PLAYLIST_MS }, before)
    } catch (error) {
      if (!(error instanceof Fault) || failures >= MAX_FAILURES) throw error
      await setTimeout(failures * 500, undefined, { signal })
    }
  }
}

/** A stream of what the generator gives, whose end ends its requests. */
const readable = (chunks: AsyncGenerator<Buffer>, over: AbortController): Readable => {
  let reading = false
  const stream = new Readable({
    highWaterMark: 1,
    read: () => {
      if (reading) return
      reading = true
      chunks.next().then(
        ({ value, done }) => {
          reading = false
          if (!stream.destroyed) stream.push(done ? null : value)
        },
        (error: Error) => void stream.destroy(error),
      )
    },
    destroy: (error, callback) => {
      over.abort()
      callback(error)
    },
  })
  return stream
}
