import { toJsonSchema, toJsonSchemaDefs } from '@valibot/to-json-schema'
import { cameraCapabilitiesSchema, cameraSchema } from '../schema/camera.ts'
import { errorSchema, triggerRefusalSchema } from '../schema/error.ts'
import { klvFeatureSchema, klvPacketSchema } from '../schema/klv.ts'
import { advancedPipelineSchema, encodingSchema, geolocationSchema, pipelineSchema, simplePipelineSchema } from '../schema/pipeline.ts'
import { pipelineRepresentationSchema, runtimeSchema } from '../schema/representation.ts'
import { screenshotRecordSchema } from '../schema/screenshot.ts'
import { settingsPatchSchema, settingsSchema } from '../schema/settings.ts'
import type { Schema } from './operation.ts'

/** A JSON Schema (draft 2020-12), as OpenAPI 3.1 takes it. */
export type JsonSchema = Readonly<Record<string, unknown>>

/** The schemas under components/schemas; other parts of the document refer to them. */
const NAMED: Readonly<Record<string, Schema>> = {
  Pipeline: pipelineRepresentationSchema,
  PipelineRuntime: runtimeSchema,
  PipelineRequest: pipelineSchema,
  SimplePipelineRequest: simplePipelineSchema,
  AdvancedPipelineRequest: advancedPipelineSchema,
  Encoding: encodingSchema,
  Geolocation: geolocationSchema,
  Settings: settingsSchema,
  SettingsChange: settingsPatchSchema,
  Screenshot: screenshotRecordSchema,
  KlvPacket: klvPacketSchema,
  KlvFeature: klvFeatureSchema,
  Camera: cameraSchema,
  CameraCapabilities: cameraCapabilitiesSchema,
  Error: errorSchema,
  TriggerRefusal: triggerRefusalSchema,
}

// Checks that compare fields have no JSON Schema; descriptions and error messages explain them.
const CONVERSION = {
  target: 'draft-2020-12',
  typeMode: 'input',
  errorMode: 'ignore',
  overrideRef: ({ referenceId }: { readonly referenceId: string }): string => `#/components/schemas/${referenceId}`,
} as const

/** components/schemas of the document. */
export const schemaComponents = (): Readonly<Record<string, JsonSchema>> =>
  toJsonSchemaDefs(NAMED, CONVERSION) as Record<string, JsonSchema>

/** A schema of the document; a reference for named schemas. */
export const toDocumentSchema = (schema: Schema): JsonSchema => {
  const named = Object.entries(NAMED).find(([, candidate]) => candidate === schema)?.[0]
  if (named !== undefined) return { $ref: CONVERSION.overrideRef({ referenceId: named }) }
  const { $schema, $defs, ...json } = toJsonSchema(schema, { ...CONVERSION, definitions: NAMED }) as Record<string, unknown>
  return json
}
