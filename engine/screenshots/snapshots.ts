import { createHash } from 'node:crypto'
import type { Picture, ScreenshotDecoder } from './decode/screenshot-decoder.ts'

export interface Snapshot extends Picture {
  /** Strong validator of exactly these bytes (RFC 9110 section 8.8.3). */
  readonly etag: string
}

/** A picture asked for again within this time is the same one. */
const FRESH_MS = 1000
/** Formats of one pipeline that are remembered at a time. */
const MAX_REMEMBERED = 4

interface Entry {
  readonly madeMs: number
  readonly snapshot: Promise<Snapshot>
  done: boolean
}

/** The pictures of now of one pipeline: however many ask at once, each format is decoded once a second at most. */
export class Snapshots {
  readonly #maker: Pick<ScreenshotDecoder, 'make'>
  readonly #now: () => number
  readonly #entries = new Map<string, Entry>()

  constructor(maker: Pick<ScreenshotDecoder, 'make'>, now: () => number = () => performance.now()) {
    this.#maker = maker
    this.#now = now
  }

  /** Shares a picture that is being made, or that was made within the last second; see ScreenshotDecoder for the errors. */
  take(format: { readonly quality: number; readonly width: number | null }): Promise<Snapshot> {
    const key = `${format.quality} ${format.width}`
    const known = this.#entries.get(key)
    if (known !== undefined && (!known.done || this.#now() - known.madeMs < FRESH_MS)) return known.snapshot
    const entry: Entry = { madeMs: this.#now(), snapshot: this.#maker.make(format).then(withEtag), done: false }
    this.#remember(key, entry)
    return entry.snapshot
  }

  /** What was made is of another run. */
  forget(): void {
    this.#entries.clear()
  }

  #remember(key: string, entry: Entry): void {
    this.#entries.delete(key)
    this.#entries.set(key, entry)
    for (const [oldest, { done }] of this.#entries) if (done && this.#entries.size > MAX_REMEMBERED) this.#entries.delete(oldest)
    const drop = (): void => {
      if (this.#entries.get(key) === entry) this.#entries.delete(key)
    }
    entry.snapshot.then(() => {
      entry.done = true
      setTimeout(drop, FRESH_MS).unref()
    }, drop)
  }
}

const withEtag = (picture: Picture): Snapshot => ({
  ...picture,
  etag: `"${createHash('sha256').update(picture.jpeg).digest('base64url').slice(0, 22)}"`,
})
