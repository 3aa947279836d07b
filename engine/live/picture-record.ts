import { RECORD_HEADER_BYTES, RECORD_KINDS, withRecordHeader } from '../../lib/video-records.ts'
import type { VideoCodec } from '../codec/codecs.ts'
import { joinAnnexB, type Nal, nalBytes } from '../codec/nal.ts'
import type { CodedPicture } from '../formats/elementary-stream.ts'

/** The record of a picture. Where no picture is reordered, its parameter sets let a decoder show each one at once. */
export const pictureRecord = ({ codec, key, nals, reorderFrames }: CodedPicture, timeMs: number): Buffer => {
  const sent = key && reorderFrames === 0 ? nals.map((nal) => shownAtOnce(codec, nal)) : nals
  return withRecordHeader(joinAnnexB(sent, RECORD_HEADER_BYTES), key ? RECORD_KINDS.key : RECORD_KINDS.delta, timeMs)
}

const shownAtOnce = (codec: VideoCodec, nal: Nal): Nal =>
  codec.parameterSets.get(nal.type) === 'sps' ? { type: nal.type, pieces: [codec.withoutReorderDelay(nalBytes(nal))] } : nal
