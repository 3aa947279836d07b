import type { EngineEvent, Klv } from '../ports.ts'
import type { KlvFeatureRecord, KlvPacketRecord } from '../schema/klv.ts'
import type { PipelineView } from '../schema/pipeline.ts'
import { type EngineCaller, followLines } from './client.ts'

/** The Klv port over HTTP. Every method throws the engine's ApiError, or SERVICE_UNAVAILABLE. */
export const createKlvClient = ({ call, open }: EngineCaller): Klv => {
  const klv = (id: string): string => `/pipelines/${encodeURIComponent(id)}/klv`
  return {
    start: (id) => call<PipelineView>('POST', `${klv(id)}/start`),
    stop: (id) => call<PipelineView>('POST', `${klv(id)}/stop`),
    latest: (id) => call<KlvPacketRecord>('GET', klv(id)),
    latestFeature: (id) => call<KlvFeatureRecord>('GET', `${klv(id)}?format=geojson`),
    follow: async function* (id, signal) {
      for await (const line of followLines<EngineEvent>(open, `${klv(id)}/events`, signal)) if (line.type === 'klv') yield line.packet
    },
  }
}
