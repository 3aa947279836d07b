import type { EngineCheck } from '../engine/messages.ts'
import type { Engine } from '../engine/protocol.ts'
import { isRecord } from '../json/is-record.ts'
import type { AudioMode, Geolocation, PipelineConfig } from '../schema/pipeline.ts'
import { pipelineSchema } from '../schema/pipeline.ts'
import { carriesH265 } from '../uri/uri-schemas.ts'
import { validate, validationError } from '../validate.ts'
import { withMode } from './with-mode.ts'

interface PipelineInput {
  readonly config: PipelineConfig
  readonly geolocation: Geolocation | null
}

/** The body of create, or of the replacement of pipeline `id`, which may leave the id out. `audio`: where the body does not state it. */
export const parsePipeline = (input: unknown, audio: AudioMode, id?: string): PipelineInput => {
  const body = id === undefined ? input : withId(input, id)
  const parsed = validate(pipelineSchema, withMode(body), 'pipeline')
  const common = {
    id: parsed.id,
    on_demand: parsed.on_demand,
    output: parsed.output ?? null,
    klv_config: parsed.klv_config,
    audio: parsed.audio ?? audio,
    audio_bitrate: parsed.audio_bitrate,
    push: parsed.push,
    ephemeral: false,
  }
  const config: PipelineConfig =
    parsed.mode === 'simple'
      ? { ...common, mode: 'simple', source: parsed.source, encoding: parsed.encoding }
      : { ...common, mode: 'advanced', raw_pipeline: parsed.raw_pipeline }
  return { config, geolocation: parsed.geolocation }
}

const withId = (input: unknown, id: string): unknown => {
  if (!isRecord(input)) return input
  if (input.id === undefined) return { ...input, id }
  if (input.id !== id)
    throw validationError('pipeline', [{ path: 'id', message: 'The id of a pipeline cannot change; use the id of the path' }])
  return input
}

/** Has the engine parse a configuration without running it. Throws VALIDATION_ERROR. */
export const checkDescription = async (engine: Pick<Engine, 'check'>, config: PipelineConfig): Promise<EngineCheck> => {
  const checked = await engine.check(config)
  if (config.output !== null && !checked.publishes) {
    throw validationError('pipeline', [{ path: 'output.uri', message: 'Name an element pay0 in raw_pipeline, or leave output out' }])
  }
  if (config.push.length > 0 && !checked.publishes) {
    throw validationError('pipeline', [{ path: 'push', message: 'Name an element pay0 in raw_pipeline, or leave push out' }])
  }
  if (checked.codecs.length > 0 && !checked.codecs.includes('h264') && !config.push.every(({ uri }) => carriesH265(uri))) {
    throw validationError('pipeline', [
      {
        path: 'push',
        message: 'RTMP carries H.264 only, and the description encodes to H.265; use x264enc, or push over srt, udp or rtsp',
      },
    ])
  }
  return checked
}
