import { randomBytes } from 'node:crypto'
import type { TsFeed } from '../formats/ts-feed.ts'
import { frameRateHint } from '../mount/frame-rate-hint.ts'
import { DEFAULT_LIMITS } from '../mount/limits.ts'
import { Reader, type ReaderCounters } from '../mount/reader.ts'
import type { Sink } from '../mount/sink.ts'
import { formatSenderReport } from '../rtp/packet/rtcp.ts'
import type { RtpStream } from '../rtp/stream.ts'

/**
 * Feeds a receiver with the packets of streams, the cached GOP first, and with sender reports. It does not count as a reader, and goes on
 * over losses of the source; a slow receiver loses whole GOPs. `now`: milliseconds since the epoch.
 */
export const openTrackFeed = (streams: readonly RtpStream[], sink: Sink, now: () => number): TsFeed => {
  const counters: ReaderCounters = { bytesOut: 0, gopDrops: 0 }
  const rate = { replaceFor: (stream: RtpStream) => frameRateHint(stream).join(), guessed: false }
  const reader = new Reader(streams, sink, DEFAULT_LIMITS, counters, rate)
  // A random name (RFC 7022).
  const cname = randomBytes(12).toString('base64')
  const report = (): void => {
    for (const [at, stream] of streams.entries()) reader.report(at, senderReport(stream, cname, now()))
  }
  reader.prepare(performance.now())
  reader.start()
  report()
  const timer = setInterval(report, DEFAULT_LIMITS.reportMs)
  const unsubscribe = streams.map((stream, at) => stream.onUnit((unit) => reader.offer(at, unit)))
  return {
    get stuckSinceMs() {
      return sink.stuckSinceMs
    },
    get bytes() {
      return counters.bytesOut
    },
    close: () => {
      clearInterval(timer)
      for (const stop of unsubscribe) stop()
      reader.pause()
      sink.close()
    },
  }
}

const senderReport = (stream: RtpStream, cname: string, wallMs: number): Buffer => {
  const { packets, bytes } = stream.stats
  return formatSenderReport({ ssrc: stream.ssrc, wallMs, timestamp: stream.timestampNow(performance.now()), packets, bytes }, cname)
}
