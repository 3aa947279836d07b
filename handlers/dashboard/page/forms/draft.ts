import type { Pipeline, PipelineRequest } from '../api/types.ts'
import { type Address, joinAddress, splitAddress } from '../words/address.ts'

/** The fields of the form, as they were typed. */
export interface Draft extends Address {
  readonly mode: 'simple' | 'advanced'
  readonly id: string
  readonly latency: string
  readonly codec: '' | 'h264' | 'h265'
  readonly bitrate: string
  readonly width: string
  readonly height: string
  readonly fps: string
  readonly quality: string
  readonly rawPipeline: string
  readonly onDemand: boolean
  readonly audio: '' | 'copy' | 'aac' | 'opus' | 'off'
  readonly audioBitrate: string
  readonly passKlv: boolean
  readonly timedKlv: boolean
  readonly extractPosition: boolean
  readonly output: string
  /** Addresses of receivers, separated by whitespace. */
  readonly push: string
  readonly latitude: string
  readonly longitude: string
  readonly altitude: string
  readonly heading: string
}

export const EMPTY_DRAFT: Draft = {
  mode: 'simple',
  id: '',
  uri: '',
  user: '',
  password: '',
  keepsCredentials: false,
  latency: '200',
  codec: '',
  bitrate: '2000',
  width: '',
  height: '',
  fps: '',
  quality: '7',
  rawPipeline: '',
  onDemand: false,
  audio: '',
  audioBitrate: '',
  passKlv: false,
  timedKlv: false,
  extractPosition: false,
  output: '',
  push: '',
  latitude: '',
  longitude: '',
  altitude: '',
  heading: '',
}

const text = (value: number | string | null | undefined): string => (value === null || value === undefined ? '' : String(value))

/** The form of an existing pipeline. */
export const draftOf = (pipeline: Pipeline): Draft => {
  const { geolocation, klv_config } = pipeline
  const common = {
    ...EMPTY_DRAFT,
    mode: pipeline.mode,
    id: pipeline.id,
    onDemand: pipeline.on_demand,
    audio: pipeline.audio,
    audioBitrate: text(pipeline.audio_bitrate),
    passKlv: klv_config.pass_klv,
    timedKlv: klv_config.synchronous,
    extractPosition: klv_config.auto_extract_geolocation,
    output: text(pipeline.output?.uri),
    push: pipeline.push.map(({ uri }) => uri).join('\n'),
    latitude: text(geolocation?.latitude),
    longitude: text(geolocation?.longitude),
    altitude: text(geolocation?.altitude),
    heading: text(geolocation?.heading),
  }
  if (pipeline.mode === 'advanced') return { ...common, rawPipeline: pipeline.raw_pipeline }
  const { source, encoding } = pipeline
  const simple = { ...common, ...splitAddress(source.uri), latency: text(source.latency_ms) }
  if (encoding === null) return simple
  return {
    ...simple,
    codec: encoding.codec,
    bitrate: text(encoding.bitrate),
    width: text(encoding.width),
    height: text(encoding.height),
    fps: text(encoding.fps),
    quality: text(encoding.quality),
  }
}

/** A number; text that is not a number is left to the API to refuse. */
const number = (typed: string): number | string | undefined => {
  const trimmed = typed.trim()
  if (trimmed === '') return undefined
  return Number.isFinite(Number(trimmed)) ? Number(trimmed) : trimmed
}

const positionOf = ({ latitude, longitude, altitude, heading }: Draft) =>
  [latitude, longitude, altitude, heading].every((typed) => typed.trim() === '')
    ? null
    : { latitude: number(latitude), longitude: number(longitude), altitude: number(altitude) ?? null, heading: number(heading) ?? null }

export const receiversOf = (push: string): readonly string[] => push.split(/\s+/).filter((uri) => uri !== '')

/** The body of a create or a replacement, without empty fields. */
export const bodyOf = (draft: Draft): PipelineRequest => {
  const common = {
    id: draft.id.trim(),
    mode: draft.mode,
    on_demand: draft.onDemand,
    ...(draft.output.trim() !== '' && { output: { uri: draft.output.trim() } }),
    klv_config: { pass_klv: draft.passKlv, auto_extract_geolocation: draft.extractPosition, synchronous: draft.timedKlv },
    ...(draft.audio !== '' && { audio: draft.audio }),
    audio_bitrate: number(draft.audioBitrate) ?? null,
    push: receiversOf(draft.push).map((uri) => ({ uri })),
    geolocation: positionOf(draft),
  }
  if (draft.mode === 'advanced') return { ...common, raw_pipeline: draft.rawPipeline.trim() } as PipelineRequest
  const encoding =
    draft.codec === ''
      ? null
      : {
          codec: draft.codec,
          bitrate: number(draft.bitrate),
          width: number(draft.width),
          height: number(draft.height),
          fps: number(draft.fps),
          quality: number(draft.quality),
        }
  // The API refuses what is not valid.
  return { ...common, source: { uri: joinAddress(draft), latency_ms: number(draft.latency) }, encoding } as PipelineRequest
}
