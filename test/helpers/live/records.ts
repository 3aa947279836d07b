import { VideoRecordParser } from '../../../lib/video-records.ts'

/** A record of `GET /svc/pipeline/{id}/video`. */
export interface VideoRecord {
  readonly kind: number
  /** µs */
  readonly time: number
  readonly payload: Buffer
}

/** Splits the bytes of a stream into records. */
export class RecordReader {
  readonly #parser = new VideoRecordParser()

  push(chunk: Uint8Array): VideoRecord[] {
    return this.#parser.push(chunk).map(({ payload, ...record }) => ({ ...record, payload: Buffer.from(payload.buffer) }))
  }
}

export interface VideoClient {
  readonly status: number
  /** Of an answer that is not 200. */
  readonly refusal: unknown
  readonly records: readonly VideoRecord[]
  /** The stream has ended. */
  readonly ended: boolean
  until(holds: (records: readonly VideoRecord[]) => boolean, patienceMs?: number): Promise<void>
  close(): Promise<void>
}

/** Opens `/video` and keeps every record. */
export const openVideo = async (url: string, headers: Record<string, string> = {}): Promise<VideoClient> => {
  const abort = new AbortController()
  const response = await fetch(url, { signal: abort.signal, headers })
  const records: VideoRecord[] = []
  const watchers = new Set<() => void>()
  let ended = false
  const read = async (): Promise<void> => {
    const reader = new RecordReader()
    try {
      for await (const chunk of response.body ?? []) {
        records.push(...reader.push(chunk))
        for (const watcher of [...watchers]) watcher()
      }
    } catch (error) {
      if (!abort.signal.aborted) throw error
    } finally {
      ended = true
      for (const watcher of [...watchers]) watcher()
    }
  }
  const refusal = response.status === 200 ? undefined : await response.json()
  const reading = response.status === 200 ? read() : Promise.resolve()
  reading.catch(() => {})
  return {
    status: response.status,
    refusal,
    records,
    get ended() {
      return ended
    },
    until: (holds, patienceMs = 20_000) =>
      new Promise((resolve, reject) => {
        const timer = setTimeout(() => finish(new Error(`still not so after ${records.length} records`)), patienceMs)
        const finish = (error?: Error): void => {
          clearTimeout(timer)
          watchers.delete(watcher)
          if (error) reject(error)
          else resolve()
        }
        const watcher = (): void => {
          if (holds(records)) finish()
          else if (ended) finish(new Error(`ended after ${records.length} records`))
        }
        watchers.add(watcher)
        watcher()
      }),
    close: async () => {
      abort.abort()
      await reading.catch(() => {})
    },
  }
}
