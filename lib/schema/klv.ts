import * as v from 'valibot'

const KLV_FORMATS = ['json', 'geojson'] as const

/** Query of the latest packet. */
export const klvQuerySchema = v.strictObject({
  format: v.optional(
    v.pipe(
      v.picklist(KLV_FORMATS, `Use one of: ${KLV_FORMATS.join(', ')}`),
      v.description('geojson: a Feature with the position of the sensor'),
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

export type KlvPacketRecord = Immutable<v.InferOutput<typeof klvPacketSchema>>
export type KlvFeatureRecord = Immutable<v.InferOutput<typeof klvFeatureSchema>>

type Immutable<T> = T extends object ? { readonly [K in keyof T]: Immutable<T[K]> } : T
