import type { Geolocation } from '../../lib/schema/pipeline.ts'

interface Position {
  readonly geolocation: Geolocation
  /** On the timeline of the video, monotonic milliseconds. */
  readonly mediaMs: number
}

/** Positions are kept for as long as a picture may take until it is stored, milliseconds. */
const KEPT_MS = 10_000
const MAX_POSITIONS = 1000

/** Where the camera of a pipeline was at the time of a picture. */
export class CameraTrack {
  #geolocation: Geolocation | null = null
  #positions: Position[] = []

  /** Sets where the camera is until a position is added; null: not known. */
  set(geolocation: Geolocation | null): void {
    this.#geolocation = geolocation
    this.#positions = []
  }

  /** Adds where the camera was at a time of the video, monotonic milliseconds. */
  add(geolocation: Geolocation, mediaMs: number): void {
    this.#positions.push({ geolocation, mediaMs })
    const [oldest] = this.#positions
    if (this.#positions.length > MAX_POSITIONS || (oldest !== undefined && oldest.mediaMs < mediaMs - KEPT_MS)) this.#positions.shift()
  }

  /** The position whose time is nearest to that of a picture; of two with the same, the later one. */
  at(mediaMs: number): Geolocation | null {
    let nearest: Position | undefined
    for (const position of this.#positions) {
      if (nearest === undefined || Math.abs(position.mediaMs - mediaMs) <= Math.abs(nearest.mediaMs - mediaMs)) nearest = position
    }
    return nearest?.geolocation ?? this.#geolocation
  }
}
