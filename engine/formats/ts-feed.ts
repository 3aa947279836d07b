import type { Writable } from 'node:stream'
import { DEFAULT_LIMITS } from '../mount/limits.ts'
import { Reader, type ReaderCounters } from '../mount/reader.ts'
import type { FrameTags } from './flv-format.ts'
import type { MediaFormats } from './media-formats.ts'

/** The MPEG-TS or FLV of a pipeline on its way to one receiver. */
export interface TsFeed {
  /** Monotonic milliseconds since when the receiver has accepted nothing; undefined when nothing waits. */
  readonly stuckSinceMs: number | undefined
  /** Bytes handed over so far. */
  readonly bytes: number
  close(): void
}

export interface TsFeedOptions {
  /** The cached GOP goes first, at once, its timestamps compressed or (`timed`) its own; else the feed begins with the next key frame. */
  readonly catchUp: boolean | 'timed'
  /** The KLV goes along, if it is passed on. */
  readonly klv: boolean
  /** The sound goes along, if it is passed on and the format carries it. */
  readonly sound: boolean
  /** FLV instead of MPEG-TS, its tags framed in this way. */
  readonly flv?: FrameTags
}

/**
 * Feeds a receiver that does not count as a reader: it starts nothing, keeps nothing playing, and continues over losses of the source. A
 * slow one loses whole GOPs.
 */
export const openTsFeed = (media: MediaFormats, out: Writable, options: TsFeedOptions): TsFeed => {
  const { video } = media
  const klv = options.klv ? media.klv : undefined
  const sound = options.sound ? media.soundStream : undefined
  const format = options.flv === undefined ? media.enterTs({ klv, sound }) : media.enterFlv(options.flv)
  const sink = format.createSink(out)
  const counters: ReaderCounters = { bytesOut: 0, gopDrops: 0 }
  const reader = new Reader([video, klv, sound], sink, DEFAULT_LIMITS, counters)
  if (options.catchUp !== false) {
    sink.begin(options.catchUp === true)
    reader.prepare(performance.now())
  }
  reader.start()
  const unsubscribe = [video, klv, sound].map((stream, at) => stream?.onUnit((unit) => reader.offer(at, unit)))
  return {
    get stuckSinceMs() {
      return sink.stuckSinceMs
    },
    get bytes() {
      return counters.bytesOut
    },
    close: () => {
      for (const stop of unsubscribe) stop?.()
      reader.pause()
      sink.close()
      media.leave(format)
    },
  }
}
