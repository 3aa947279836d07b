import { CODECS, type VideoCodec } from '../../codec/codecs.ts'
import { parseH264Sps } from '../../codec/h264-sps.ts'
import { nalBytes } from '../../codec/nal.ts'

/** Whether the sequence parameter sets state that pictures come in the order in which they are shown: the stream has no B-frames. */
export const keepsOrder = (encodingName: string, parameters: ReadonlyMap<string, string>): boolean => {
  const codec = CODECS.get(encodingName)
  const sets = codec === undefined ? [] : sequenceSets(codec, parameters)
  return sets.length > 0 && sets.every((set) => codec?.reorderFrames(set) === 0)
}

/** Whether the sequence parameter sets of H.264 allow that the fields of a frame are pictures of their own. */
export const hasFields = (encodingName: string, parameters: ReadonlyMap<string, string>): boolean => {
  const codec = encodingName === 'H264' ? CODECS.get(encodingName) : undefined
  return codec !== undefined && sequenceSets(codec, parameters).some((set) => parseH264Sps(set)?.fields === true)
}

const sequenceSets = (codec: VideoCodec, parameters: ReadonlyMap<string, string>): readonly Uint8Array[] =>
  codec.capsFields
    .flatMap((name) => parameters.get(name)?.split(',') ?? [])
    .flatMap((text) => codec.depacketize([Buffer.from(text, 'base64')]))
    .filter(({ type }) => codec.parameterSets.get(type) === 'sps')
    .map(nalBytes)
