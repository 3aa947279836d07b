import { type AudioConfig, RECORD_KINDS, type SourceEvent, type VideoConfig, VideoRecordParser } from '../../../../lib/video-records.ts'

/** An access unit in Annex B, as an EncodedVideoChunk (W3C WebCodecs) is made from it. */
export interface VideoChunk {
  readonly type: 'key' | 'delta'
  /** µs */
  readonly timestamp: number
  readonly data: Uint8Array<ArrayBuffer>
}

interface RecordListener {
  readonly onConfig: (config: VideoConfig) => void
  readonly onChunk: (chunk: VideoChunk) => void
  readonly onSoundConfig?: ((config: AudioConfig) => void) | undefined
  /** `timestamp`: µs */
  readonly onSound?: ((timestamp: number, data: Uint8Array<ArrayBuffer>) => void) | undefined
  /** `timestamp`: of its frame, µs */
  readonly onKlv?: ((timestamp: number, packet: Uint8Array) => void) | undefined
  readonly onSource: (type: SourceEvent['type']) => void
}

/** Returns a function that takes the next piece of the stream. It throws when the stream cannot be read. */
export const createRecordReader = ({
  onConfig,
  onChunk,
  onSoundConfig,
  onSound,
  onKlv,
  onSource,
}: RecordListener): ((piece: Uint8Array) => void) => {
  const parser = new VideoRecordParser()
  const read = <Value>(payload: Uint8Array): Value => JSON.parse(new TextDecoder().decode(payload)) as Value
  return (piece) => {
    for (const { kind, time: timestamp, payload: data } of parser.push(piece)) {
      if (kind === RECORD_KINDS.key) onChunk({ type: 'key', timestamp, data })
      else if (kind === RECORD_KINDS.delta) onChunk({ type: 'delta', timestamp, data })
      else if (kind === RECORD_KINDS.config) onConfig(read<VideoConfig>(data))
      else if (kind === RECORD_KINDS.soundConfig) onSoundConfig?.(read<AudioConfig>(data))
      else if (kind === RECORD_KINDS.sound) onSound?.(timestamp, data)
      else if (kind === RECORD_KINDS.klv) onKlv?.(timestamp, data)
      else if (kind === RECORD_KINDS.event) {
        const { type } = read<SourceEvent>(data)
        // Other kinds and events are for later versions.
        if (type === 'source_lost' || type === 'source_back') onSource(type)
      }
    }
  }
}
