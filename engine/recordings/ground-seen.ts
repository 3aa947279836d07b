import type { SecondSeen } from '../../lib/segments/segment.ts'
import type { KlvPacket } from '../../lib/st0601/packet.ts'
import { KlvStreamParser } from '../../lib/st0601/stream-parser.ts'
import { footprintOf } from '../klv/footprint/footprint.ts'
import { polygonOf } from '../klv/footprint/polygon.ts'

/** Larger units are no metadata. Bytes. */
const MAX_UNIT_BYTES = 256 * 1024
/** Decimal places of degrees: 0.1 m. */
const PRECISION = 1e6

/** What the sensor sees, once a second: most packets are not decoded. */
export class GroundSeen {
  readonly #parser = new KlvStreamParser()
  #second = Number.NaN
  #seen: SecondSeen[] = []

  /** KLV that arrived at a time, milliseconds since the epoch. */
  push(klv: Uint8Array, at: number): void {
    const second = Math.floor(at / 1000)
    if (second === this.#second) return
    if (klv.length > MAX_UNIT_BYTES) {
      this.#parser.reset()
      return
    }
    for (const packet of this.#parser.push(klv)) {
      const boxes = boxesOf(packet)
      if (boxes.length === 0) continue
      this.#second = second
      this.#seen.push(...boxes.map((box) => ({ second, ...box })))
      return
    }
  }

  /** What was seen since the last `take`. */
  get seen(): readonly SecondSeen[] {
    return this.#seen
  }

  take(): readonly SecondSeen[] {
    const seen = this.#seen
    this.#seen = []
    return seen
  }
}

/** One rectangle, or two where the footprint crosses the antimeridian. */
const boxesOf = (packet: KlvPacket) => {
  const footprint = footprintOf(packet)
  if (typeof footprint === 'string') return []
  const polygon = polygonOf(footprint.corners)
  const rings = polygon.type === 'Polygon' ? [polygon.coordinates[0]] : polygon.coordinates.map(([ring]) => ring)
  return rings.flatMap((ring) => {
    if (ring === undefined || ring.length === 0) return []
    const [longitudes, latitudes] = [ring.map(([longitude]) => longitude), ring.map(([, latitude]) => latitude)]
    return [
      {
        south: rounded(Math.min(...latitudes), Math.floor),
        west: rounded(Math.min(...longitudes), Math.floor),
        north: rounded(Math.max(...latitudes), Math.ceil),
        east: rounded(Math.max(...longitudes), Math.ceil),
      },
    ]
  })
}

const rounded = (degrees: number, round: (value: number) => number): number => round(degrees * PRECISION) / PRECISION
