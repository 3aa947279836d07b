import { createHash } from 'node:crypto'
import type { Screenshot, ScreenshotDecoder } from './decode/screenshot-decoder.ts'

export interface Snapshot extends Screenshot {
  /** Strong validator of these bytes (RFC 9110 section 8.8.3). */
  readonly etag: string
}

/** A snapshot is reused for this time. */
const FRESH_MS = 1000
/** Formats of one pipeline that are cached at once. */
const MAX_CACHED = 4

interface Entry {
  readonly startedMs: number
  readonly snapshot: Promise<Snapshot>
  done: boolean
}

/** The snapshots of one pipeline: each format is decoded at most once a second, however many requests arrive. */
export class Snapshots {
  readonly #decoder: Pick<ScreenshotDecoder, 'decode'>
  readonly #now: () => number
  readonly #entries = new Map<string, Entry>()

  constructor(decoder: Pick<ScreenshotDecoder, 'decode'>, now: () => number = () => performance.now()) {
    this.#decoder = decoder
    this.#now = now
  }

  /** Shares a snapshot that is being decoded or less than a second old; see ScreenshotDecoder for the errors. */
  take(format: { readonly quality: number; readonly width: number | null }): Promise<Snapshot> {
    const key = `${format.quality} ${format.width}`
    const known = this.#entries.get(key)
    if (known !== undefined && (!known.done || this.#now() - known.startedMs < FRESH_MS)) return known.snapshot
    const entry: Entry = { startedMs: this.#now(), snapshot: this.#decoder.decode(format).then(withEtag), done: false }
    this.#cache(key, entry)
    return entry.snapshot
  }

  /** Drops the snapshots of a previous run. */
  clear(): void {
    this.#entries.clear()
  }

  #cache(key: string, entry: Entry): void {
    this.#entries.delete(key)
    this.#entries.set(key, entry)
    for (const [oldest, { done }] of this.#entries) if (done && this.#entries.size > MAX_CACHED) this.#entries.delete(oldest)
    const drop = (): void => {
      if (this.#entries.get(key) === entry) this.#entries.delete(key)
    }
    entry.snapshot.then(() => {
      entry.done = true
      setTimeout(drop, FRESH_MS).unref()
    }, drop)
  }
}

const withEtag = (screenshot: Screenshot): Snapshot => ({
  ...screenshot,
  etag: `"${createHash('sha256').update(screenshot.jpeg).digest('base64url').slice(0, 22)}"`,
})
