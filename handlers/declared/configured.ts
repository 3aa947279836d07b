import { isMasked, maskDescription, maskUri } from '../../lib/credentials/mask.ts'
import { hasCode } from '../../lib/errors.ts'
import { isRecord } from '../../lib/json/is-record.ts'
import { orderedJson } from '../../lib/json/ordered-json.ts'
import { MASK } from '../../lib/redact.ts'
import { pipelineSchema, READ_ONLY_FIELDS } from '../../lib/schema/pipeline.ts'
import { validate } from '../../lib/validate.ts'
import type { Pipeline, PipelineRequest } from '../client/client.ts'

/** The configurable fields of a pipeline, with every default. The schema defines which fields these are. */
export type Configured = Readonly<Record<string, unknown>> & Pick<PipelineRequest, 'id' | 'mode'> & { readonly on_demand: boolean }

/** The configurable fields of a parsed body. */
export const configured = (parsed: object): Configured =>
  Object.fromEntries(Object.entries(parsed).filter(([name, value]) => !READ_ONLY_FIELDS.has(name) && value !== undefined)) as Configured

/** The configuration of an answered pipeline, with masked credentials. One that only an earlier version accepted is left as it is. */
export const configuredOf = (pipeline: Pipeline): Configured => {
  const own = configured(pipeline)
  const parsed = normalIfValid(own)
  if (parsed === undefined) return own
  // In the order of the answer.
  return { ...Object.fromEntries(Object.keys(own).map((name) => [name, parsed[name]])), ...parsed }
}

const normal = (body: unknown): Configured => configured(validate(pipelineSchema, body, 'pipeline'))

const normalIfValid = (body: unknown): Configured | undefined => {
  try {
    return normal(body)
  } catch (error) {
    if (hasCode(error, 'VALIDATION_ERROR')) return undefined
    throw error
  }
}

/** A configuration without the fields that have their defaults, also within groups; unchanged if it is not valid. */
export const withoutDefaults = (config: Configured): Configured => {
  const parsed = normalIfValid(config)
  if (parsed === undefined) return config
  const whole = orderedJson(parsed)
  const canGo = (body: unknown): boolean => orderedJson(normalIfValid(body)) === whole
  let kept: Readonly<Record<string, unknown>> = config
  // Readers of a file see its mode at once.
  for (const name of Object.keys(config).filter((each) => each !== 'mode')) {
    const { [name]: group, ...others } = kept
    if (canGo(others)) kept = others
    else if (isRecord(group)) {
      for (const inner of Object.keys(group)) {
        const { [inner]: _, ...rest } = kept[name] as Readonly<Record<string, unknown>>
        const without = { ...kept, [name]: rest }
        if (canGo(without)) kept = without
      }
    }
  }
  return kept as Configured
}

/** A field of a configuration, by its dotted path. */
export interface Change {
  readonly field: string
  readonly from: unknown
  readonly to: unknown
}

/** The fields in which two values differ. Lists are compared as a whole. */
export const changesBetween = (from: unknown, to: unknown, path = ''): readonly Change[] => {
  if (isRecord(from) && isRecord(to)) {
    const names = [...new Set([...Object.keys(from), ...Object.keys(to)])]
    return names.flatMap((name) => changesBetween(from[name], to[name], path === '' ? name : `${path}.${name}`))
  }
  if (isRecord(to) && (from === undefined || from === null) && Object.keys(to).length > 0) return changesBetween({}, to, path)
  return orderedJson(from) === orderedJson(to) ? [] : [{ field: path, from, to }]
}

/** A value with masked credentials, as the service answers it. */
export const masked = <T>(value: T, field = ''): T => {
  if (typeof value === 'string') return maskText(value, field) as T
  if (Array.isArray(value)) return value.map((inner) => masked(inner, field)) as T
  return isRecord(value) ? (Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, masked(inner, name)])) as T) : value
}

const maskText = (text: string, field: string): string => {
  if (field === 'password' || field === 'secret') return MASK
  return field === 'raw_pipeline' ? maskDescription(text) : /^[a-z][a-z0-9+.-]*:\/\//i.test(text) ? maskUri(text) : text
}

/** The fields with a mask for which no credentials are stored. */
export const unknownMasks = (declared: unknown, stored: unknown, path = ''): readonly string[] => {
  if (typeof declared === 'string') return (declared === MASK || isMasked(declared)) && declared !== stored ? [path] : []
  if (Array.isArray(declared)) {
    const known = Array.isArray(stored) ? stored : []
    return declared.flatMap((inner, at) => {
      const same = known.find((one) => orderedJson(one) === orderedJson(inner))
      return unknownMasks(inner, same ?? known[at], `${path}.${at}`)
    })
  }
  if (!isRecord(declared)) return []
  const before = isRecord(stored) ? stored : {}
  return Object.entries(declared).flatMap(([name, inner]) => unknownMasks(inner, before[name], path === '' ? name : `${path}.${name}`))
}
