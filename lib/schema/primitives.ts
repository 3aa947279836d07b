import * as v from 'valibot'

/** Characters as people count them, not UTF-16 units: an emoji is one. */
export const charactersOf = (text: string): number => [...text].length

/** One of a list of words. */
export const oneOf = <const T extends readonly string[]>(values: T) => v.picklist(values, `Use one of: ${values.join(', ')}`)

/** A whole number within bounds, both included. */
export const integerBetween = (least: number, most: number) =>
  v.pipe(
    v.number('Use a number'),
    v.integer('Use a whole number'),
    v.minValue(least, `Use at least ${least}`),
    v.maxValue(most, `Use at most ${most}`),
  )

/** An integer of 0 or more, in answers. */
export const count = v.pipe(v.number(), v.integer(), v.minValue(0))

/** A whole number in a query, which carries it as text. */
export const integerInQuery = (least: number, most: number, description: string) =>
  v.pipe(
    v.string('Use a whole number'),
    v.regex(/^\d{1,9}$/, 'Use a whole number'),
    v.metadata({ type: 'integer', pattern: undefined, minimum: least, maximum: most, description }),
    v.transform(Number),
    v.minValue(least, `Use at least ${least}`),
    v.maxValue(most, `Use at most ${most}`),
  )

/** A finite number within bounds, both included. */
export const numberBetween = (least: number, most: number) =>
  v.pipe(
    v.number('Use a number'),
    v.finite('Use a finite number'),
    v.minValue(least, `Use at least ${least}`),
    v.maxValue(most, `Use at most ${most}`),
  )

/** A schema with its description in the API document, which names the unit. */
export const described = <const S extends v.GenericSchema>(schema: S, description: string) => v.pipe(schema, v.description(description))

export type Immutable<T> = T extends object ? { readonly [K in keyof T]: Immutable<T[K]> } : T

/** Query of the records of a pipeline. */
export const videoQuerySchema = v.strictObject({
  audio: v.optional(described(oneOf(['0', '1']), '1: with the sound of the pipeline'), '0'),
  klv: v.optional(described(oneOf(['0', '1']), '1: with the KLV of the source, each packet before its frame'), '0'),
})

/** Query of an offer of WebRTC. */
export const offerQuerySchema = v.strictObject({
  wait: v.optional(
    described(
      oneOf(['0', '1']),
      '1: starts an on-demand pipeline, and waits for a start. 0: 409 not_playing at once when there is no video now',
    ),
    '1',
  ),
})

/** Query of the MPEG-TS of a pipeline. */
export const streamStartSchema = v.strictObject({
  start: v.optional(
    described(
      oneOf(['now', 'key']),
      'now: with the pictures since the last key frame, their times drawn together, for players. key: with the next key frame and the times of the source, for recorders',
    ),
    'now',
  ),
})

/** ISO 8601 UTC with milliseconds, as every time of the API. */
export const time = v.pipe(v.string(), v.isoTimestamp())

export const liveSegmentSchema = v.pipe(v.string(), v.description('A segment of live.m3u8, as the playlist names it'))
