import * as v from 'valibot'

const KLV_FORMATS = ['json', 'geojson', 'footprint', 'cot'] as const

/** Query of the latest packet. */
export const klvQuerySchema = v.strictObject({
  format: v.optional(
    v.pipe(
      v.picklist(KLV_FORMATS, `Use one of: ${KLV_FORMATS.join(', ')}`),
      v.description(
        'geojson: a Feature with the position of the sensor; footprint: a Feature with the ground that it sees; cot: an event of Cursor on Target',
      ),
    ),
    'json',
  ),
})

const klvValueSchema = v.nullable(v.union([v.number(), v.string()]))

/** One ST 0601 local set whose checksum was right. */
export const klvPacketSchema = v.object({
  pipeline_id: v.string(),
  received_at: v.pipe(v.string(), v.description('When the engine received the packet, ISO 8601 UTC')),
  age_ms: v.pipe(v.number(), v.description('Time since received_at, milliseconds')),
  stale: v.pipe(v.boolean(), v.description('Older than 5 s')),
  timestamp: v.pipe(v.nullable(v.string()), v.description('Precision time stamp (tag 2), ISO 8601 UTC')),
  checksum_ok: v.literal(true),
  values: v.pipe(v.record(v.string(), klvValueSchema), v.description('Known tags by name; null: the sender marks the value as unknown')),
  items: v.array(
    v.object({
      tag: v.number(),
      name: v.nullable(v.string()),
      value: klvValueSchema,
      unit: v.nullable(v.string()),
      raw: v.pipe(v.string(), v.description('The bytes in hexadecimal')),
    }),
  ),
})

/** The same packet as a GeoJSON Feature (RFC 7946). */
export const klvFeatureSchema = v.object({
  type: v.literal('Feature'),
  geometry: v.nullable(v.object({ type: v.literal('Point'), coordinates: v.array(v.number()) })),
  properties: v.record(v.string(), v.nullable(v.union([v.number(), v.string(), v.boolean()]))),
})

const ring = v.pipe(v.array(v.array(v.number())), v.description('Closed and counter-clockwise; longitude and latitude, WGS 84 degrees'))

/** The ground that the sensor sees as a GeoJSON Feature (RFC 7946). */
export const klvFootprintSchema = v.object({
  type: v.literal('Feature'),
  geometry: v.variant('type', [
    v.object({ type: v.literal('Polygon'), coordinates: v.array(ring) }),
    v.pipe(
      v.object({ type: v.literal('MultiPolygon'), coordinates: v.array(v.array(ring)) }),
      v.description('Cut in two at the antimeridian (RFC 7946 section 3.1.9)'),
    ),
  ]),
  properties: v.objectWithRest(
    {
      method: v.pipe(
        v.picklist(['corners', 'offsets', 'field_of_view']),
        v.description('Sent as corners (tags 82 to 89), as offsets from the frame centre (26 to 33), or computed over flat ground'),
      ),
    },
    v.nullable(v.union([v.number(), v.string(), v.boolean()])),
  ),
})

/** One Cursor on Target event, version 2.0. */
export const klvCotSchema = v.pipe(v.string(), v.startsWith('<?xml'), v.description('An event of Cursor on Target 2.0'))

export type KlvPacketRecord = Immutable<v.InferOutput<typeof klvPacketSchema>>
export type KlvFeatureRecord = Immutable<v.InferOutput<typeof klvFeatureSchema>>
export type KlvFootprintRecord = Immutable<v.InferOutput<typeof klvFootprintSchema>>

type Immutable<T> = T extends object ? { readonly [K in keyof T]: Immutable<T[K]> } : T
