import type { Writable } from 'node:stream'
import { type Chunk, type Counters, countersAfter, renumbered } from '../mpegts/ts-muxer.ts'
import type { AccessUnit } from '../rtp/access-unit.ts'
import { ByteSink } from './byte-sink.ts'

/** A client gets the tables at this interval while there is nothing else, milliseconds: proxies close connections that are silent. */
const IDLE_MS = 10_000

/** The packets of a pipeline. */
export interface TsChunks {
  /** The packets of the newest unit, the same for all; undefined when it has none, before the key picture after a loss, and for older units. */
  chunk(track: number, unit: AccessUnit): Chunk | undefined
  /** The cached GOP for a client that joins now, its timestamps compressed or its own; undefined for sound before it begins. The caller owns it. */
  gop(compressed: boolean): Map<AccessUnit, Chunk | undefined>
  /** The tables alone, undefined before the first picture. */
  tables(): Chunk | undefined
  /** The counters at the beginning of the next chunk. */
  readonly counters: Counters
}

/** One receiver of MPEG-TS: a client of `GET /svc/pipeline/{id}/stream.ts`, or a push. */
export class TsSink extends ByteSink {
  readonly #chunks: TsChunks
  /** The chunks of the cached GOP that are still to be sent. */
  #gop = new Map<AccessUnit, Chunk | undefined>()
  /** Those of units that wait. */
  readonly #waiting = new WeakMap<AccessUnit, Chunk>()
  /** The next counters; undefined before the first packet. */
  #counters: Counters | undefined
  /** A key picture was sent. */
  #begun = false
  #sentMs = Number.NEGATIVE_INFINITY

  constructor(out: Writable, chunks: TsChunks) {
    super(out)
    this.#chunks = chunks
  }

  begin(compressed = true): void {
    this.#gop = this.#chunks.gop(compressed)
    const last = [...this.#gop.values()].findLast((chunk) => chunk !== undefined)
    // The shared chunks then follow without a copy.
    this.#counters = last && this.#chunks.counters.map((counter, slot) => (counter - (last.after[slot] ?? 0)) & 15)
    if (last === undefined) this.check(true)
  }

  waits(track: number, unit: AccessUnit): void {
    const chunk = this.#gop.has(unit) ? undefined : this.#chunks.chunk(track, unit)
    if (chunk !== undefined) this.#waiting.set(unit, chunk)
  }

  send(track: number, unit: AccessUnit): number {
    const chunk = this.#gop.has(unit) ? this.#takeOfGop(unit) : this.#nextChunk(track, unit)
    this.#begun ||= track === 0 && unit.key && chunk !== undefined
    return chunk === undefined || !this.#begun ? 0 : this.#sendChunk(chunk)
  }

  check(drained: boolean): void {
    if (!drained || this.busy || performance.now() - this.#sentMs < IDLE_MS) return
    const tables = this.#chunks.tables()
    if (tables !== undefined) this.#sendChunk(tables)
  }

  /** The GOP may hold many megabytes: it is released as it is sent, and when the client was too slow for all of it. */
  #takeOfGop(unit: AccessUnit): Chunk | undefined {
    const chunk = this.#gop.get(unit)
    this.#gop.delete(unit)
    return chunk
  }

  #nextChunk(track: number, unit: AccessUnit): Chunk | undefined {
    if (track === 0 && unit.key) this.#gop.clear()
    const waiting = this.#waiting.get(unit)
    this.#waiting.delete(unit)
    return waiting ?? this.#chunks.chunk(track, unit)
  }

  #sendChunk(chunk: Chunk): number {
    const from = this.#counters ?? chunk.before
    this.#counters = countersAfter(chunk, from)
    this.#sentMs = performance.now()
    return this.write(renumbered(chunk, from))
  }
}
