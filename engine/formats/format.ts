import type { Writable } from 'node:stream'
import type { ServedSound } from '../mount/served-sound.ts'
import type { ByteSink } from './byte-sink.ts'
import type { ElementaryStream } from './elementary-stream.ts'

/** What the formats of a pipeline have in common. */
export interface FormatSource {
  readonly elementary: ElementaryStream
  readonly sound: Pick<ServedSound, 'readable'>
  /** How often the source was lost. */
  readonly losses: number
  /** Index of the first access unit after the last loss. */
  readonly firstUnitAfterLoss: number
  /** The source sends. */
  readonly live: boolean
}

/** How the access units of a pipeline become bytes. */
export interface Format {
  createSink(out: Writable): ByteSink
  close(): void
}
