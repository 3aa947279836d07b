import { type ConversionConfig, toJsonSchema, toJsonSchemaDefs } from '@valibot/to-json-schema'
import { isRecord } from '../json/is-record.ts'
import { loginSchema, passwordSchema } from '../schema/auth.ts'
import { cameraCapabilitiesSchema, cameraSchema } from '../schema/camera.ts'
import { errorSchema, triggerRefusalSchema } from '../schema/error.ts'
import { healthSchema } from '../schema/health.ts'
import { klvFeatureSchema, klvFootprintSchema, klvPacketSchema } from '../schema/klv.ts'
import {
  advancedPipelineSchema,
  advancedReplacementSchema,
  encodingSchema,
  geolocationSchema,
  pipelinePatchSchema,
  pipelineReplacementSchema,
  pipelineSchema,
  simplePipelineSchema,
  simpleReplacementSchema,
} from '../schema/pipeline.ts'
import {
  advancedRepresentationSchema,
  pipelineRepresentationSchema,
  runtimeSchema,
  simpleRepresentationSchema,
} from '../schema/representation.ts'
import { screenshotRecordSchema, screenshotsStartSchema } from '../schema/screenshot.ts'
import { settingsPatchSchema, settingsSchema } from '../schema/settings.ts'
import type { Schema } from './operation.ts'

/** A JSON Schema (draft 2020-12), as OpenAPI 3.1 takes it. */
export type JsonSchema = Readonly<Record<string, unknown>>

type Names = Readonly<Record<string, Schema>>

/** Schemas of answers: fields with a default are always present. */
const ANSWERS: Names = {
  Pipeline: pipelineRepresentationSchema,
  SimplePipeline: simpleRepresentationSchema,
  AdvancedPipeline: advancedRepresentationSchema,
  PipelineRuntime: runtimeSchema,
  Encoding: encodingSchema,
  Geolocation: geolocationSchema,
  Settings: settingsSchema,
  Screenshot: screenshotRecordSchema,
  KlvPacket: klvPacketSchema,
  KlvFeature: klvFeatureSchema,
  KlvFootprint: klvFootprintSchema,
  Camera: cameraSchema,
  CameraCapabilities: cameraCapabilitiesSchema,
  Health: healthSchema,
  Error: errorSchema,
  TriggerRefusal: triggerRefusalSchema,
}

/** The required fields of an answer: also those with a default. */
const alwaysPresent = (properties: Record<string, unknown>, required: unknown): readonly string[] =>
  Object.keys(properties).filter((name) => {
    const property = properties[name]
    return (isRecord(property) && 'default' in property) || (Array.isArray(required) && required.includes(name))
  })

/** Schemas of requests. */
const REQUESTS: Names = {
  PipelineRequest: pipelineSchema,
  SimplePipelineRequest: simplePipelineSchema,
  AdvancedPipelineRequest: advancedPipelineSchema,
  PipelineReplacement: pipelineReplacementSchema,
  SimplePipelineReplacement: simpleReplacementSchema,
  AdvancedPipelineReplacement: advancedReplacementSchema,
  PipelineChange: pipelinePatchSchema,
  EncodingRequest: encodingSchema,
  GeolocationRequest: geolocationSchema,
  SettingsChange: settingsPatchSchema,
  ScreenshotsStart: screenshotsStartSchema,
  Login: loginSchema,
  Password: passwordSchema,
}

// Checks that compare fields have no JSON Schema; descriptions explain them.
const CONVERSION = {
  target: 'draft-2020-12',
  errorMode: 'ignore',
  overrideRef: ({ referenceId }: { readonly referenceId: string }): string => `#/components/schemas/${referenceId}`,
} as const satisfies ConversionConfig

/** How the schemas of one direction are converted. */
interface Direction {
  readonly names: Names
  readonly typeMode: 'input' | 'output'
  /** Applied to each schema within a converted one, from the outside in. */
  readonly refine: (schema: Record<string, unknown>) => Record<string, unknown>
}

const ANSWER: Direction = {
  names: ANSWERS,
  typeMode: 'output',
  refine: ({ additionalProperties, default: _, ...schema }) => ({
    ...schema,
    ...(isRecord(schema.properties) && { required: alwaysPresent(schema.properties, schema.required) }),
    // Later versions may add fields; a client that validates must accept them.
    ...(additionalProperties !== undefined && additionalProperties !== false && { additionalProperties }),
  }),
}

const REQUEST: Direction = {
  names: REQUESTS,
  typeMode: 'input',
  // Client generators treat a field with a `default` as always present, so that callers would have to send it.
  refine: ({ default: value, ...schema }) =>
    value === undefined || isRecord(value)
      ? schema
      : { ...schema, description: `${schema.description ?? 'Optional'}; default ${JSON.stringify(value)}` },
}

/** A query parameter: its default stays. */
const PARAMETER: Direction = { names: {}, typeMode: 'input', refine: (schema) => schema }

/** components/schemas of the document. */
export const schemaComponents = (): Readonly<Record<string, JsonSchema>> => ({ ...componentsOf(ANSWER), ...componentsOf(REQUEST) })

/** The schema of an answer, of a request body or of a parameter; a reference for named schemas. */
export const answerSchema = (schema: Schema): JsonSchema => convert(schema, ANSWER)
export const requestSchema = (schema: Schema): JsonSchema => convert(schema, REQUEST)
export const parameterSchema = (schema: Schema): JsonSchema => convert(schema, PARAMETER)

const componentsOf = ({ names, typeMode, refine }: Direction): Record<string, JsonSchema> => {
  const components = toJsonSchemaDefs(names, { ...CONVERSION, typeMode }) as Record<string, JsonSchema>
  return Object.fromEntries(
    Object.entries(components).map(([name, json]) => [name, discriminated(names[name], walk(json, refine) as JsonSchema, names)]),
  )
}

const convert = (schema: Schema, { names, typeMode, refine }: Direction): JsonSchema => {
  const named = nameOf(schema, names)
  if (named !== undefined) return { $ref: CONVERSION.overrideRef({ referenceId: named }) }
  const { $schema, $defs, ...json } = toJsonSchema(schema, { ...CONVERSION, typeMode, definitions: names }) as Record<string, unknown>
  return walk(json, refine) as JsonSchema
}

const nameOf = (schema: unknown, names: Names): string | undefined =>
  Object.entries(names).find(([, candidate]) => candidate === schema)?.[0]

/** Adds the discriminator of a variant, which every option has to require. */
const discriminated = (schema: Schema | undefined, json: JsonSchema, names: Names): JsonSchema => {
  const { type, key, options } = (schema ?? {}) as { type?: string; key?: string; options?: readonly Variant[] }
  if (type !== 'variant' || key === undefined || options === undefined) return json
  const mapping = options.flatMap((option) => {
    const [name, value] = [nameOf(option, names), option.entries[key]?.literal]
    return name === undefined || value === undefined ? [] : [[value, CONVERSION.overrideRef({ referenceId: name })]]
  })
  if (mapping.length === options.length) return { ...json, discriminator: { propertyName: key, mapping: Object.fromEntries(mapping) } }
  const { oneOf, ...rest } = json
  return { ...rest, anyOf: oneOf }
}

interface Variant {
  readonly entries: Readonly<Record<string, { readonly literal?: string }>>
}

/** Refines every schema within a schema; `properties` and the like hold schemas by name and are no schemas themselves. */
const walk = (node: unknown, refine: Direction['refine'], isMap = false): unknown => {
  if (Array.isArray(node)) return node.map((item) => walk(item, refine))
  if (!isRecord(node)) return node
  const refined = isMap ? node : refine(node)
  return Object.fromEntries(
    Object.entries(refined).map(([key, value]) => [
      key,
      LITERAL.has(key) && !isMap ? value : walk(value, refine, key === 'properties' && !isMap),
    ]),
  )
}

/** Keywords whose value is data. */
const LITERAL: ReadonlySet<string> = new Set(['const', 'enum', 'default', 'required'])
