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
export type Version = Awaited<ReturnType<Client['getVersion']>>
