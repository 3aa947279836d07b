import * as v from 'valibot'
import { describe, expect, it } from 'vitest'
import { bodyOf, draftOf, EMPTY_DRAFT } from '../../../../../../handlers/dashboard/page/forms/draft.ts'
import { idleView, represent } from '../../../../../../lib/pipelines/representation.ts'
import { pipelineSchema } from '../../../../../../lib/schema/pipeline.ts'
import { pipelineRepresentationSchema } from '../../../../../../lib/schema/representation.ts'

const BODIES = [
  { id: 'plain', mode: 'simple', audio: 'copy', source: { uri: 'rtsp://10.0.0.5/a' } },
  {
    id: 'full',
    mode: 'simple',
    on_demand: true,
    source: { uri: 'srt://10.0.0.9:5000', latency_ms: 0 },
    encoding: { codec: 'h265', bitrate: 900, width: 640, height: 360, fps: 12.5, quality: 3 },
    output: { uri: 'rtsp://0.0.0.0:50001/full' },
    klv_config: { pass_klv: true, auto_extract_geolocation: true, synchronous: false },
    audio: 'aac',
    audio_bitrate: 96,
    push: [{ uri: 'srt://10.0.0.7:9000?passphrase=***' }, { uri: 'udp://239.1.1.1:5000' }],
    geolocation: { latitude: -27.5, longitude: 0, altitude: null, heading: 350 },
  },
  { id: 'own', mode: 'advanced', audio: 'off', raw_pipeline: 'videotestsrc ! fakesink' },
] as const

describe('the form of a pipeline', () => {
  for (const body of BODIES)
    it(`does not change the pipeline ${body.id}`, () => {
      const { geolocation = null, ...config } = v.parse(pipelineSchema, body)
      const record = { config: { output: null, ephemeral: false, ...config }, geolocation, created_at: 0, updated_at: 0 }
      const representation = v.parse(pipelineRepresentationSchema, represent(record as never, idleView(record as never)))
      expect(v.parse(pipelineSchema, bodyOf(draftOf(representation)))).toEqual(v.parse(pipelineSchema, body))
    })

  it('sends text that is not a number as it is, for the API to refuse', () => {
    const body = bodyOf({ ...EMPTY_DRAFT, codec: 'h264', bitrate: 'fast', latitude: '48,1' })
    expect(body).toMatchObject({ encoding: { bitrate: 'fast' }, geolocation: { latitude: '48,1' } })
  })
})
