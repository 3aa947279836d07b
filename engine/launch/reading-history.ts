import type { RtspReader } from '../../lib/configuration/variables.ts'
import type { Fault } from '../faults/fault.ts'
import { type Tracks, tracksOf } from '../ingest/tracks.ts'
import { NOT_UNDERSTOOD } from '../rtsp/client/client-faults.ts'
import type { Described } from '../rtsp/client/describe-source.ts'
import { rtpmap } from '../rtsp/protocol/sdp.ts'

/** The oldest is forgotten first. */
const MAX_SOURCES = 1000

/** Faults of a child that shows that it does not understand the source either. */
const NO_BETTER = new Set<Fault['reason']>(['source_error', 'timeout', 'unsupported'])

/**
 * Whether the engine or a child reads an RTSP source that is passed through over TCP. A source that the engine has not understood goes
 * to a child until it describes itself in another way, since its server may be changed at any time, or the child fails as well.
 */
export class ReaderChoice {
  readonly #reader: RtspReader
  /** Address → how the source describes itself that the engine did not understand; undefined until its next description. */
  readonly #byChild = new Map<string, string | undefined>()
  /** Each fault changes the choice once, however often it is the previous fault. */
  readonly #heeded = new WeakSet<Fault>()

  constructor(reader: RtspReader) {
    this.#reader = reader
  }

  /** The tracks that the engine is to read; undefined when a child reads the source. */
  choose(uri: string, described: Described): Tracks | undefined {
    if (this.#reader === 'child') return undefined
    const tracks = tracksOf(described.sdp)
    if (tracks === undefined) return undefined
    const signature = signatureOf(described)
    if (!this.#byChild.has(uri)) return tracks
    if ((this.#byChild.get(uri) ?? signature) !== signature) {
      this.#byChild.delete(uri)
      return tracks
    }
    this.#byChild.set(uri, signature)
    return undefined
  }

  /** Takes the fault of the run before, ahead of the description: that may fail, and its fault then be the previous one. */
  heed(uri: string, fault: Fault | undefined): void {
    if (fault === undefined || this.#heeded.has(fault)) return
    this.#heeded.add(fault)
    if (fault.cause === NOT_UNDERSTOOD) this.#byChild.set(uri, undefined)
    else if (NO_BETTER.has(fault.reason)) this.#byChild.delete(uri)
    const [oldest] = this.#byChild.keys()
    if (this.#byChild.size > MAX_SOURCES && oldest !== undefined) this.#byChild.delete(oldest)
  }
}

/** What a server says of itself and of its tracks, without what differs from one description to the next. */
const signatureOf = ({ server, sdp }: Described): string =>
  JSON.stringify([server, sdp.media.map((media) => [media.type, media.protocol, media.formats, rtpmap(media)?.encodingName])])
