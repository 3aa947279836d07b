import type { Writable } from 'node:stream'
import { DEFAULT_LIMITS } from '../mount/limits.ts'
import { Reader, type ReaderCounters } from '../mount/reader.ts'
import type { MediaFormats } from './media-formats.ts'

/** The MPEG-TS of a pipeline on its way to one receiver. */
export interface TsFeed {
  /** Monotonic milliseconds since when the receiver has accepted nothing; undefined when nothing waits. */
  readonly stuckSinceMs: number | undefined
  /** Bytes handed over so far. */
  readonly bytes: number
  close(): void
}

export interface TsFeedOptions {
  /** The cached GOP goes first, at once; else the feed begins with the next key frame. */
  readonly catchUp: boolean
  /** The KLV goes along, if it is passed on. */
  readonly klv: boolean
}

/**
 * Feeds a receiver that does not count as a reader: it starts nothing, keeps nothing playing, and continues over losses of the source. A
 * slow one loses whole GOPs.
 */
export const openTsFeed = (media: MediaFormats, out: Writable, options: TsFeedOptions): TsFeed => {
  const { video } = media
  const klv = options.klv ? media.klv : undefined
  const format = media.enterTs(klv)
  const sink = format.createSink(out)
  const counters: ReaderCounters = { bytesOut: 0, gopDrops: 0 }
  const reader = new Reader([video, klv], sink, DEFAULT_LIMITS, counters)
  if (options.catchUp) {
    sink.begin()
    reader.prepare(performance.now())
  }
  reader.start()
  const unsubscribe = [video.onUnit((unit) => reader.offer(0, unit)), klv?.onUnit((unit) => reader.offer(1, unit))]
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
