import { isRecord } from './is-record.ts'

/** The JSON of a value, the same for the same fields in another order; undefined for what has no JSON. */
export const orderedJson = (value: unknown): string | undefined =>
  JSON.stringify(value, (_, inner: unknown) =>
    isRecord(inner) ? Object.fromEntries(Object.entries(inner).sort(([one], [other]) => (one < other ? -1 : 1))) : inner,
  )
