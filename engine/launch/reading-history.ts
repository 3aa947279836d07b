import { streamAddressOf } from '../../lib/uri/stream-address.ts'
import type { Fault } from '../faults/fault.ts'
import { TRANSPORT_REFUSED } from '../rtsp/client/client-faults.ts'

/** The oldest is forgotten first. */
const MAX_SOURCES = 1000
/** A refusal is remembered for this long, milliseconds: servers may be changed at any time. */
const REMEMBERED_MS = 60 * 60 * 1000

/** Which RTSP sources are read over UDP, by the faults of earlier runs. A source that refuses UDP too gets TCP again. */
export class ReadingHistory {
  readonly #now: () => number
  /** Address of a source that refused TCP → when that is forgotten, monotonic milliseconds. */
  readonly #overUdp = new Map<string, number>()
  /** Each fault counts once, however often it is the previous fault. */
  readonly #noted = new WeakSet<Fault>()

  constructor(now: () => number = () => performance.now()) {
    this.#now = now
  }

  /** Takes the fault of the run before, ahead of the description: that may fail, and its fault is then the previous one. */
  noteFault(uri: string, fault: Fault | undefined): void {
    if (fault?.cause !== TRANSPORT_REFUSED || this.#noted.has(fault)) return
    this.#noted.add(fault)
    if (this.#overUdp.delete(uri)) return
    this.#overUdp.set(uri, this.#now() + REMEMBERED_MS)
    const [oldest] = this.#overUdp.keys()
    if (this.#overUdp.size > MAX_SOURCES && oldest !== undefined) this.#overUdp.delete(oldest)
  }

  /** TCP loses no packets and passes firewalls, so it is tried first; rtspt:// and rtsps:// never fall back to UDP. */
  transport(uri: string): 'tcp' | 'udp' {
    const untilMs = this.#overUdp.get(uri) ?? 0
    if (untilMs <= this.#now()) this.#overUdp.delete(uri)
    return streamAddressOf(uri).scheme === 'rtsp' && untilMs > this.#now() ? 'udp' : 'tcp'
  }
}
