import { pause } from '../../../../lib/pause.ts'
import { type PartEnd, RECORD_KINDS, VideoRecordParser } from '../../../../lib/video-records.ts'
import { api, wordsOf } from '../api/api.ts'
import { chunksOf, untilVisible, whenHidden } from '../api/follow.ts'
import { createRecordReader } from '../screens/records.ts'
import { playByWebRtc } from './play-web-rtc.ts'
import { createStage, type Excluded, type StageOptions } from './stage.ts'

/** One picture of a wall. */
export interface WallTile extends StageOptions {
  readonly id: string
  /** Kept from one connection to the next. */
  readonly excluded: Excluded
  readonly onSource: (isThere: boolean) => void
  /** The stream has ended or cannot be shown; it is tried again with the next connection. */
  readonly onEnd: (why: string | undefined) => void
}

const RETRY_MS = 2000
/** A source that is away is reported every 30 s. Without any data for longer, the connection is dead. */
const SILENCE_MS = 40_000

/** Plays several pipelines over one connection until the signal aborts. A tile that ends leaves the others alone. */
export const playWall = async (tiles: readonly WallTile[], signal: AbortSignal): Promise<void> => {
  while (!signal.aborted && tiles.length > 0) {
    await untilVisible(signal)
    // The tiles keep their last pictures meanwhile.
    await playOnce(tiles, signal).catch(() => {})
    await pause(RETRY_MS, signal)
  }
}

/** Plays one by WebRTC, which needs no connection of the browser, until the signal aborts or it turns out that this does not work. */
export const playTileByWebRtc = async (tile: WallTile, signal: AbortSignal): Promise<void> => {
  while (!signal.aborted && !tile.excluded.has('webrtc')) {
    await untilVisible(signal)
    try {
      await playByWebRtc({ ...tile, signal }, tile.excluded, () => {})
    } catch (error) {
      if (signal.aborted) return
      tile.onEnd(wordsOf(error))
      await pause(RETRY_MS, signal)
    }
  }
}

const playOnce = async (tiles: readonly WallTile[], signal: AbortSignal): Promise<void> => {
  const attempt = new AbortController()
  const end = (): void => attempt.abort()
  signal.addEventListener('abort', end)
  const stopWatching = whenHidden(end)
  const parts = tiles.map(createPart)
  let timer: ReturnType<typeof setTimeout> | undefined
  try {
    const response = await api.getVideos({ ids: tiles.map(({ id }) => id).join(), signal: attempt.signal })
    const parser = new VideoRecordParser()
    for await (const piece of chunksOf(response)) {
      clearTimeout(timer)
      timer = setTimeout(end, SILENCE_MS)
      for (const { kind, payload } of parser.push(piece)) {
        const part = parts[payload[0] ?? -1]
        if (kind === RECORD_KINDS.part) part?.read(payload.subarray(1))
        else if (kind === RECORD_KINDS.ended) part?.end(payload.subarray(1))
      }
    }
  } finally {
    clearTimeout(timer)
    stopWatching()
    signal.removeEventListener('abort', end)
    attempt.abort()
    for (const { close } of parts) close()
  }
}

/** The records of one pipeline. */
const createPart = (tile: WallTile) => {
  let isOpen = true
  const close = (): void => {
    isOpen = false
    stage.close()
  }
  // The stage calls back when no way is left for the stream.
  const stage = createStage(tile, tile.excluded, () => {
    close()
    tile.onEnd(PICTURES)
  })
  const reader = createRecordReader({
    onConfig: stage.configure,
    onChunk: stage.show,
    onSource: (type) => tile.onSource(type === 'source_back'),
  })
  return {
    read: (piece: Uint8Array): void => {
      if (isOpen) reader(piece)
    },
    end: (json: Uint8Array): void => {
      const { error } = JSON.parse(new TextDecoder().decode(json)) as PartEnd
      tile.onEnd(error?.message)
      close()
    },
    close,
  }
}

const PICTURES = 'This browser cannot show it live here. Open its page.'
