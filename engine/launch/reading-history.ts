import type { RtspReader } from '../../lib/configuration/variables.ts'
import { streamAddressOf } from '../../lib/uri/stream-address.ts'
import type { Fault } from '../faults/fault.ts'
import { TRANSPORT_REFUSED } from '../gst/bus-errors.ts'
import { type Tracks, tracksOf } from '../ingest/tracks.ts'
import { NOT_UNDERSTOOD } from '../rtsp/client/client-faults.ts'
import type { Described } from '../rtsp/client/describe-source.ts'
import { rtpmap } from '../rtsp/protocol/sdp.ts'

/** The oldest is forgotten first. */
const MAX_SOURCES = 1000

/** Faults of a child that shows that it does not understand the source either. */
const NO_BETTER = new Set<Fault['reason']>(['source_error', 'timeout', 'unsupported'])

/**
 * How RTSP sources are read, by the faults of earlier runs: over TCP or UDP, and by the engine or a child. Servers may be changed at
 * any time, so a source that refuses UDP too gets TCP again, and one that describes itself in another way is read by the engine again.
 */
export class ReadingHistory {
  readonly #reader: RtspReader
  /** Addresses of sources that refused TCP, until they refuse UDP. */
  readonly #overUdp = new Set<string>()
  /** Address → how the source describes itself that the engine did not understand; undefined until its next description. */
  readonly #byChild = new Map<string, string | undefined>()
  /** Each fault counts once, however often it is the previous fault. */
  readonly #noted = new WeakSet<Fault>()

  constructor(reader: RtspReader) {
    this.#reader = reader
  }

  /** Takes the fault of the run before, ahead of the description: that may fail, and its fault is then the previous one. */
  noteFault(uri: string, fault: Fault | undefined): void {
    if (fault === undefined || this.#noted.has(fault)) return
    this.#noted.add(fault)
    if (fault.cause === TRANSPORT_REFUSED && !this.#overUdp.delete(uri)) this.#overUdp.add(uri)
    if (fault.cause === NOT_UNDERSTOOD) this.#byChild.set(uri, undefined)
    else if (NO_BETTER.has(fault.reason)) this.#byChild.delete(uri)
    forgetOldest(this.#overUdp)
    forgetOldest(this.#byChild)
  }

  /** TCP loses no packets and passes firewalls, so it is tried first; rtspt:// and rtsps:// never fall back to UDP. */
  transport(uri: string): 'tcp' | 'udp' {
    return streamAddressOf(uri).scheme === 'rtsp' && this.#overUdp.has(uri) ? 'udp' : 'tcp'
  }

  /** The tracks that the engine itself reads; undefined when a child reads the source. */
  tracks(uri: string, described: Described): Tracks | undefined {
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
}

const forgetOldest = (sources: Set<string> | Map<string, unknown>): void => {
  const [oldest] = sources.keys()
  if (sources.size > MAX_SOURCES && oldest !== undefined) sources.delete(oldest)
}

/** What a server says of itself and of its tracks, without what differs from one description to the next. */
const signatureOf = ({ server, sdp }: Described): string =>
  JSON.stringify([server, sdp.media.map((media) => [media.type, media.protocol, media.formats, rtpmap(media)?.encodingName])])
