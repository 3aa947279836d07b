import { createDecipheriv } from 'node:crypto'
import { Fault } from '../faults/fault.ts'
import { inTurns } from '../fetch/in-turns.ts'
import type { Fetched, HlsClient } from './hls-client.ts'
import type { MediaMap, Segment, SegmentKey } from './playlist.ts'
import { TransportTimes } from './transport-times.ts'

/** Ten seconds of 50 Mbit/s. */
const MAX_SEGMENT_BYTES = 64 * 1024 * 1024
const MAX_MAP_BYTES = 1024 * 1024
const SEGMENT_MS = 30_000
const KEY_BYTES = 16
/** To decrypt in one turn of the event loop. */
const BYTES_IN_A_TURN = 1024 * 1024
const MAX_KEYS = 16
/** Segments that may be missing one after the other. */
const MAX_MISSING = 3

interface Named {
  /** The playlist that names the segment. */
  readonly playlist: Fetched
  /** It does not go on from the segment before. */
  readonly restarted: boolean
}

/** Reads segments: fetched, decrypted, and their times moved over discontinuities. */
export class SegmentReader {
  readonly #client: HlsClient
  readonly #times = new TransportTimes()
  readonly #keys = new Map<string, Buffer>()
  #map: MediaMap | undefined
  #missing = 0
  #begun = false

  constructor(client: HlsClient) {
    this.#client = client
  }

  /** The initialization section, where another one begins, and the segment; nothing for a missing segment. Throws Fault. */
  async *read(segment: Segment, { playlist, restarted }: Named): AsyncGenerator<Buffer> {
    const discontinuity = segment.discontinuity || restarted
    // Another initialization section, or other times, would need another process.
    if (segment.map !== undefined && this.#begun && (discontinuity || !sameMap(segment.map, this.#map)))
      throw new Fault('ended', 'The source goes on with another video stream.')
    const bytes = await this.#fetch(segment, playlist)
    if (bytes === undefined) return
    if (segment.map === undefined) await inTurns(this.#times.pass(bytes, { seconds: segment.seconds, discontinuity }))
    else if (!this.#begun) yield await this.#initialization(segment.map, segment, playlist)
    this.#map = segment.map
    this.#begun = true
    yield bytes
  }

  async #fetch(segment: Segment, playlist: Fetched): Promise<Buffer | undefined> {
    const { uri, range, key, sequence } = segment
    try {
      const { bytes } = await this.#client.fetch({ uri, range, maxBytes: MAX_SEGMENT_BYTES, timeoutMs: SEGMENT_MS }, playlist)
      this.#missing = 0
      return key === undefined ? bytes : await this.#decrypt(bytes, { key, sequence, playlist })
    } catch (error) {
      // A live server has removed it by now.
      this.#missing += 1
      const isGone = error instanceof Fault && error.reason === 'not_found' && this.#missing <= MAX_MISSING
      if (isGone) return undefined
      throw error
    }
  }

  async #initialization({ uri, range, key }: MediaMap, { sequence }: Segment, playlist: Fetched): Promise<Buffer> {
    const { bytes } = await this.#client.fetch({ uri, range, maxBytes: MAX_MAP_BYTES, timeoutMs: SEGMENT_MS }, playlist)
    return key === undefined ? bytes : this.#decrypt(bytes, { key, sequence, playlist })
  }

  /** RFC 8216 section 4.3.2.4: AES-128 in CBC mode, whole segments, PKCS7 padding. */
  async #decrypt(
    bytes: Buffer,
    { key, sequence, playlist }: { readonly key: SegmentKey; readonly sequence: number; readonly playlist: Fetched },
  ): Promise<Buffer> {
    if (key.method !== 'AES-128')
      throw new Fault('unsupported', `${playlist.address.shown} encrypts its media in a way that is not supported. Use AES-128, or none.`)
    const iv = key.iv === undefined ? numbered(sequence) : Buffer.from(key.iv.padStart(2 * KEY_BYTES, '0'), 'hex')
    const secret = await this.#key(key.uri, playlist)
    try {
      return await inTurns(decipher(bytes, secret, iv))
    } catch (cause) {
      throw new Fault('source_error', `A segment of ${playlist.address.shown} cannot be decrypted with its key.`, { cause })
    }
  }

  async #key(uri: string, playlist: Fetched): Promise<Buffer> {
    const known = this.#keys.get(uri)
    if (known !== undefined) return known
    const { bytes } = await this.#client.fetch({ uri, maxBytes: KEY_BYTES, timeoutMs: SEGMENT_MS }, playlist)
    this.#keys.set(uri, bytes)
    const [oldest] = this.#keys.keys()
    if (this.#keys.size > MAX_KEYS && oldest !== undefined) this.#keys.delete(oldest)
    return bytes
  }
}

/** In place, since the result is no longer. Throws when the padding is wrong. */
function* decipher(bytes: Buffer, secret: Buffer, iv: Buffer): Generator<void, Buffer> {
  const cipher = createDecipheriv('aes-128-cbc', secret, iv)
  let length = 0
  for (let at = 0; at < bytes.length; at += BYTES_IN_A_TURN) {
    length += cipher.update(bytes.subarray(at, at + BYTES_IN_A_TURN)).copy(bytes, length)
    yield
  }
  return bytes.subarray(0, length + cipher.final().copy(bytes, length))
}

const numbered = (sequence: number): Buffer => {
  const iv = Buffer.alloc(KEY_BYTES)
  iv.writeBigUInt64BE(BigInt(sequence), KEY_BYTES - 8)
  return iv
}

const sameMap = (one: MediaMap, other: MediaMap | undefined): boolean =>
  one.uri === other?.uri && one.range?.offset === other.range?.offset && one.range?.length === other.range?.length
