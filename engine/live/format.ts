import type { Writable } from 'node:stream'
import type { ByteSink } from './byte-sink.ts'
import type { ElementaryStream } from './elementary-stream.ts'

/** What the clients of a pipeline share, of whatever format. */
export interface SharedSource {
  readonly elementary: ElementaryStream
  /** How often the source was lost, and the number of the first unit after the last time. */
  readonly losses: number
  readonly firstUnitAfterLoss: number
  /** The source sends. */
  readonly live: boolean
}

/** How the access units of a pipeline become bytes; what its clients share is there while there is one. */
export interface Format {
  createSink(out: Writable): ByteSink
  close(): void
}
