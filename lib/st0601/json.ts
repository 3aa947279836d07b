import { geolocationOf } from './geolocation.ts'
import { itemBytes, type KlvItem, type KlvPacket, numberOfTag } from './packet.ts'
import { findTag } from './tags.ts'
import type { KlvValue } from './value.ts'

/** Origin and arrival of a packet. Times are milliseconds since the epoch. */
export interface KlvArrival {
  readonly pipelineId: string
  readonly receivedAt: number
  readonly now: number
}

/** An older packet no longer describes the present position. */
const STALE_AFTER_MS = 5000

interface KlvItemJson {
  readonly tag: number
  readonly name: string | null
  readonly value: KlvValue
  readonly unit: string | null
  /** The value bytes in hexadecimal. */
  readonly raw: string
}

export interface KlvPacketJson {
  readonly pipeline_id: string
  readonly received_at: string
  readonly age_ms: number
  readonly stale: boolean
  readonly timestamp: string | null
  readonly checksum_ok: true
  readonly values: Readonly<Record<string, KlvValue>>
  readonly items: readonly KlvItemJson[]
}

export interface KlvFeature {
  readonly type: 'Feature'
  /** WGS 84, `[longitude, latitude, altitude]` (RFC 7946 section 3.1.1); null without a position. */
  readonly geometry: { readonly type: 'Point'; readonly coordinates: readonly number[] } | null
  readonly properties: Readonly<Record<string, KlvValue | boolean>>
}

const HEX = Array.from({ length: 256 }, (_, octet) => octet.toString(16).padStart(2, '0'))

const toHex = (bytes: Uint8Array): string => {
  let hex = ''
  for (const octet of bytes) hex += HEX[octet] ?? ''
  return hex
}

/** Tag 2 as ISO 8601 with milliseconds, null when the packet has none. */
const timestampOf = (packet: KlvPacket): string | null =>
  packet.timestampUs === null ? null : new Date(Math.floor(packet.timestampUs / 1000)).toISOString()

const itemJson = (packet: KlvPacket, item: KlvItem): KlvItemJson => {
  const tag = findTag(item.tag)
  const raw = toHex(itemBytes(packet, item))
  return { tag: item.tag, name: tag?.name ?? null, value: item.value, unit: tag?.unit ?? null, raw }
}

/** The decoded values by their snake_case name: known tags only, without the checksum and raw tags. */
const valuesOf = (packet: KlvPacket): Record<string, KlvValue> => {
  const values: Record<string, KlvValue> = {}
  for (const item of packet.items) {
    const tag = findTag(item.tag)
    if (tag === undefined || tag.tag === 1 || tag.type === 'set' || tag.type === 'pack') continue
    values[tag.key] = item.value
  }
  return values
}

/** The fields of a packet that every form of it has. */
export const arrivalJson = (packet: KlvPacket, { pipelineId, receivedAt, now }: KlvArrival) => {
  const age = Math.max(0, now - receivedAt)
  const received = new Date(receivedAt).toISOString()
  return { pipeline_id: pipelineId, received_at: received, age_ms: age, stale: age > STALE_AFTER_MS, timestamp: timestampOf(packet) }
}

/** A packet as JSON of the API. */
export const klvPacketJson = (packet: KlvPacket, arrival: KlvArrival): KlvPacketJson => ({
  ...arrivalJson(packet, arrival),
  checksum_ok: true,
  values: valuesOf(packet),
  items: packet.items.map((item) => itemJson(packet, item)),
})

/** A packet as a GeoJSON Feature (RFC 7946 section 3.2): the sensor's position, everything else in `properties`. */
export const klvFeature = (packet: KlvPacket, arrival: KlvArrival): KlvFeature => {
  const position = geolocationOf(packet)
  const altitude = position?.altitude ?? null
  const coordinates = position === null ? [] : [position.longitude, position.latitude, ...(altitude === null ? [] : [altitude])]
  return {
    type: 'Feature',
    geometry: position === null ? null : { type: 'Point', coordinates },
    properties: { ...valuesOf(packet), ...arrivalJson(packet, arrival), checksum_ok: true, heading: numberOfTag(packet, 5) },
  }
}
