import type { Klv } from '../../../lib/engine/protocol.ts'
import { ApiError } from '../../../lib/errors.ts'
import type { KlvPacketRecord } from '../../../lib/schema/klv.ts'
import type { FakeEngine } from './engine.ts'

/** KLV without media: the rules of the port are real, the packets are the test's. */
export interface FakeKlv extends Klv {
  /** Pipelines whose source carries KLV. */
  readonly carriers: Set<string>
  /** Pipelines whose KLV is decoded. */
  readonly decoding: Set<string>
  /** Sends a packet to the subscribers of its pipeline, and keeps it as the last one. */
  send(packet: KlvPacketRecord): void
  /** How many subscribe to a pipeline. */
  following(id: string): number
}

export const klvPacket = (id: string, latitude: number): KlvPacketRecord => ({
  pipeline_id: id,
  received_at: '2026-11-20T10:00:00.000Z',
  age_ms: 0,
  stale: false,
  timestamp: '2026-11-20T09:59:59.900Z',
  checksum_ok: true,
  values: { sensor_latitude: latitude },
  items: [{ tag: 13, name: 'Sensor Latitude', value: latitude, unit: 'deg', raw: '5595b66d' }],
})

export const createFakeKlv = (engine: FakeEngine): FakeKlv => {
  const subscribers = new Map<string, Set<(packet: KlvPacketRecord) => void>>()
  const packets = new Map<string, KlvPacketRecord>()
  const viewOf = async (id: string) => {
    const view = await engine.view(id)
    if (!fake.carriers.has(id)) return view
    return { ...view, klv: { available: true, state: fake.decoding.has(id) ? ('playing' as const) : ('stopped' as const) } }
  }
  const last = (id: string): KlvPacketRecord => {
    const packet = packets.get(id)
    if (packet === undefined) throw new ApiError('NOT_FOUND', `No KLV packet of the pipeline "${id}" has been decoded yet.`)
    return packet
  }
  const fake: FakeKlv = {
    carriers: new Set(),
    decoding: new Set(),
    send(packet) {
      packets.set(packet.pipeline_id, packet)
      for (const subscriber of subscribers.get(packet.pipeline_id) ?? []) subscriber(packet)
    },
    following: (id) => subscribers.get(id)?.size ?? 0,
    start: async (id) => {
      if ((await engine.view(id)).state !== 'playing') throw new ApiError('CONFLICT', 'Not playing.', { reason: 'not_playing' })
      if (!fake.carriers.has(id)) throw new ApiError('CONFLICT', 'No KLV so far.', { reason: 'no_klv' })
      fake.decoding.add(id)
      return viewOf(id)
    },
    stop: async (id) => {
      fake.decoding.delete(id)
      return viewOf(id)
    },
    latest: async (id) => last(id),
    latestFeature: async (id) => {
      const { values, pipeline_id } = last(id)
      return { type: 'Feature', geometry: null, properties: { ...values, pipeline_id } }
    },
    latestFootprint: async (id) => {
      const { values, pipeline_id } = last(id)
      const east = values.corner_longitude_point_1_full
      if (typeof east !== 'number') throw new ApiError('NOT_FOUND', 'The packet has no footprint.', { reason: 'no_footprint' })
      const ring = [
        [east, 10],
        [east + 1, 10],
        [east, 11],
        [east, 10],
      ]
      return { type: 'Feature', geometry: { type: 'Polygon', coordinates: [ring] }, properties: { method: 'corners', pipeline_id } }
    },
    latestCot: async (id, { host }) => `<?xml version="1.0"?><event uid="fake/${last(id).pipeline_id}"><detail>${host}</detail></event>`,
    async *events(id, signal) {
      const waiting: KlvPacketRecord[] = []
      let wake = (): void => {}
      const subscriber = (packet: KlvPacketRecord): void => {
        waiting.push(packet)
        wake()
      }
      const known = subscribers.get(id) ?? new Set()
      subscribers.set(id, known.add(subscriber))
      signal.addEventListener('abort', () => wake())
      try {
        while (!signal.aborted) {
          for (const packet of waiting.splice(0)) yield { type: 'klv', id, packet }
          if (waiting.length > 0 || signal.aborted) continue
          await new Promise<void>((resolve) => {
            wake = resolve
          })
        }
      } finally {
        known.delete(subscriber)
      }
    },
  }
  return fake
}
