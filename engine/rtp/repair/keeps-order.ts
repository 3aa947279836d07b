import { CODECS } from '../../codec/codecs.ts'
import { nalBytes } from '../../codec/nal.ts'

/** Whether the sequence parameter sets state that pictures come in the order in which they are shown: the stream has no B-frames. */
export const keepsOrder = (encodingName: string, parameters: ReadonlyMap<string, string>): boolean => {
  const codec = CODECS.get(encodingName)
  if (codec === undefined) return false
  const described = codec.capsFields.flatMap((name) => parameters.get(name)?.split(',') ?? [])
  const sets = described
    .flatMap((text) => codec.depacketize([Buffer.from(text, 'base64')]))
    .filter(({ type }) => codec.parameterSets.get(type) === 'sps')
  return sets.length > 0 && sets.every((set) => codec.reorderFrames(nalBytes(set)) === 0)
}
