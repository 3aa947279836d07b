import type { InferOutput } from 'valibot'
import type { cameraCapabilitiesSchema, cameraSchema } from '../../../../lib/schema/camera.ts'
import type { healthSchema, versionSchema } from '../../../../lib/schema/health.ts'
import type { klvPacketSchema } from '../../../../lib/schema/klv.ts'
import type { logLineSchema } from '../../../../lib/schema/log.ts'
import type { pipelineRepresentationSchema } from '../../../../lib/schema/representation.ts'
import type { screenshotRecordSchema } from '../../../../lib/schema/screenshot.ts'

export type { Phase } from '../../../../lib/schema/pipeline.ts'
export type { Settings } from '../../../../lib/schema/settings.ts'
export type Pipeline = InferOutput<typeof pipelineRepresentationSchema>
export type Camera = InferOutput<typeof cameraSchema>
export type CameraCapabilities = InferOutput<typeof cameraCapabilitiesSchema>
export type Health = InferOutput<typeof healthSchema>
export type Version = InferOutput<typeof versionSchema>
export type KlvPacket = InferOutput<typeof klvPacketSchema>
export type LogLine = InferOutput<typeof logLineSchema>
export type Screenshot = InferOutput<typeof screenshotRecordSchema>
