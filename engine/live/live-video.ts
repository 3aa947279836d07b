import type { Writable } from 'node:stream'
import { DEFAULT_LIMITS } from '../mount/limits.ts'
import type { MountedSession, MountPoint } from '../mount/mount-point.ts'
import { Reader } from '../mount/reader.ts'
import type { LiveAdmission, LiveParts } from './admission.ts'
import { RecordFormat } from './record-format.ts'

/** Sends a stream of bytes until either side ends it. */
export type ByteSource = (out: Writable) => void

/** How often clients are checked, milliseconds. */
const CHECK_MS = 1000
/** How long a disconnected client may take to read what is buffered, milliseconds. */
const END_MS = 500

interface LiveVideoParts extends Pick<LiveParts, 'media'> {
  readonly admission: LiveAdmission
}

/** `catchUp`: with the cached GOP, else with the next key frame. */
type Wanted =
  | { readonly format: 'ts'; readonly catchUp: boolean }
  | { readonly format: 'records'; readonly sound: boolean; readonly klv: boolean }

/**
 * The live video of one pipeline over HTTP. Its clients are readers of the output's mount like those of RTSP: the same limits,
 * start on demand, and treatment of slow readers.
 */
export class LiveVideo {
  readonly #parts: LiveVideoParts
  /** Checks each client, every CHECK_MS. */
  readonly #checks = new Set<(nowMs: number) => void>()
  #timer: NodeJS.Timeout | undefined

  constructor(parts: LiveVideoParts) {
    this.#parts = parts
  }

  /** Admits a client; throws as LiveAdmission.admit. */
  async open(wanted: Wanted, signal: AbortSignal): Promise<ByteSource> {
    const { point, release } = await this.#parts.admission.admit(signal)
    return (out) => {
      release()
      this.#join(point, wanted, out)
    }
  }

  #join(point: MountPoint, wanted: Wanted, out: Writable): void {
    if (point.closed) {
      out.end()
      return
    }
    const { media } = this.#parts
    const { klv, sound, format } = this.#enter(wanted)
    const sink = format.createSink(out)
    const reader = new Reader([media.video, klv, sound], sink, DEFAULT_LIMITS, point.counters)
    const session: MountedSession = { client: 'http', reader, reportedLoss: 0, anyFormat: true, end: () => end(out) }
    const stopChecks = this.#check((nowMs) => {
      if (sink.stuckSinceMs !== undefined && nowMs - sink.stuckSinceMs > DEFAULT_LIMITS.stalledMs) out.destroy()
      else sink.check(reader.drained)
    })
    const unsubscribe = [
      media.video.onLoss(() => sink.check(reader.drained)),
      // The mount offers what is passed on.
      ...(klv !== undefined && point.options.streams[1] === undefined ? [klv.onUnit((unit) => reader.offer(1, unit))] : []),
    ]
    out.on('close', () => {
      reader.pause()
      sink.close()
      point.remove(session)
      for (const stop of unsubscribe) stop()
      stopChecks()
      media.leave(format)
    })
    if (wanted.format === 'records' || wanted.catchUp) {
      sink.begin()
      reader.prepare(performance.now())
    }
    point.add(session)
    reader.start()
  }

  #enter(wanted: Wanted) {
    const { media } = this.#parts
    if (wanted.format === 'ts') {
      const { klv, soundStream: sound } = media
      return { klv, sound, format: media.enterTs({ klv, sound }) }
    }
    const klv = wanted.klv ? media.klvOfSource : undefined
    const sound = wanted.sound ? media.soundStream : undefined
    // Formats of their own: the readers of pictures alone wait for nothing.
    const format = media.enter(klv === undefined ? 'records' : 'records klv', () => new RecordFormat(media, klv))
    return { klv, sound, format }
  }

  /** Calls back at an interval; returns the function that ends it. */
  #check(check: (nowMs: number) => void): () => void {
    this.#checks.add(check)
    this.#timer ??= setInterval(() => {
      const nowMs = performance.now()
      for (const each of this.#checks) each(nowMs)
    }, CHECK_MS)
    return () => {
      this.#checks.delete(check)
      if (this.#checks.size > 0) return
      clearInterval(this.#timer)
      this.#timer = undefined
    }
  }
}

/** Sends what is buffered first. */
const end = (out: Writable): void => {
  out.end()
  setTimeout(() => out.destroy(), END_MS).unref()
}
