import * as v from 'valibot'
import { described, type Immutable, oneOf } from './primitives.ts'

const KLV_FORMATS = ['json', 'geojson', 'footprint', 'cot'] as const

/** Query of the latest packet. */
export const klvQuerySchema = v.strictObject({
  format: v.optional(
    described(
      oneOf(KLV_FORMATS),
      'geojson: a Feature with the position of the sensor; footprint: a Feature with the ground that it sees; cot: a Cursor on Target event',
    ),
    'json',
  ),
})

const klvValueSchema = v.nullable(v.union([v.number(), v.string()]))

/** One ST 0601 local set whose checksum was right. */
export const klvPacketSchema = v.object({
  pipeline_id: v.string(),
  received_at: described(v.string(), 'When the engine received the packet, ISO 8601 UTC'),
  age_ms: described(v.number(), 'Time since received_at, milliseconds'),
  stale: described(v.boolean(), 'Older than 5 s'),
  timestamp: described(v.nullable(v.string()), 'Precision time stamp (tag 2), ISO 8601 UTC'),
  checksum_ok: v.literal(true),
  values: described(v.record(v.string(), klvValueSchema), 'Known tags by name; null: the sender marks the value as unknown'),
  items: v.array(
    v.object({
      tag: v.number(),
      name: v.nullable(v.string()),
      value: klvValueSchema,
      unit: v.nullable(v.string()),
      raw: described(v.string(), 'The bytes in hexadecimal'),
    }),
  ),
})

/** The same packet as a GeoJSON Feature (RFC 7946). */
export const klvFeatureSchema = v.object({
  type: v.literal('Feature'),
  geometry: v.nullable(v.object({ type: v.literal('Point'), coordinates: v.array(v.number()) })),
  properties: v.record(v.string(), v.nullable(v.union([v.number(), v.string(), v.boolean()]))),
})

const ring = described(v.array(v.array(v.number())), 'Closed and counter-clockwise; longitude and latitude, WGS 84 degrees')

/** The ground that the sensor sees as a GeoJSON Feature (RFC 7946). */
export const klvFootprintSchema = v.object({
  type: v.literal('Feature'),
  geometry: v.variant('type', [
    v.object({ type: v.literal('Polygon'), coordinates: v.array(ring) }),
    described(
      v.object({ type: v.literal('MultiPolygon'), coordinates: v.array(v.array(ring)) }),
      'Cut in two at the antimeridian (RFC 7946 section 3.1.9)',
    ),
  ]),
  properties: v.objectWithRest(
    {
      method: described(
        v.picklist(['corners', 'offsets', 'field_of_view']),
        'Sent as corners (tags 82 to 89), as offsets from the frame centre (26 to 33), or computed over flat ground',
      ),
    },
    v.nullable(v.union([v.number(), v.string(), v.boolean()])),
  ),
})

/** One Cursor on Target event, version 2.0. */
export const klvCotSchema = described(v.pipe(v.string(), v.startsWith('<?xml')), 'A Cursor on Target event, version 2.0')

export type KlvPacketRecord = Immutable<v.InferOutput<typeof klvPacketSchema>>
export type KlvFeatureRecord = Immutable<v.InferOutput<typeof klvFeatureSchema>>
export type KlvFootprintRecord = Immutable<v.InferOutput<typeof klvFootprintSchema>>
