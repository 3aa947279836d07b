import type { Client } from '../../../client/client.ts'

export type { Phase } from '../../../../lib/schema/pipeline.ts'
export type {
  Camera,
  Health,
  KlvPacket,
  Pipeline,
  PipelineRequest,
  Screenshot,
  Settings,
} from '../../../client/client.ts'
export type FoundLine = Awaited<ReturnType<Client['searchLogs']>>[number]
export type NetworkCamera = Awaited<ReturnType<Client['searchCameras']>>[number]
export type CameraStreams = Awaited<ReturnType<Client['readCameraStreams']>>
export type CameraStream = CameraStreams['streams'][number]
export type TestReport = Awaited<ReturnType<Client['testPipeline']>>
export type Version = Awaited<ReturnType<Client['getVersion']>>
