import { formatRtpCaps } from '../rtp/caps.ts'
import { RtpStream } from '../rtp/stream.ts'
import type { ChildPipe } from './child-pipe.ts'

/** A stream whose access units go to a child. Their times count from the response to PLAY, as those of the KLV of the source do. */
export const unitFeed = (pipe: ChildPipe): RtpStream => {
  // No reader joins it.
  const stream = new RtpStream({ gop: { bytes: 0 } })
  let startMs: number | undefined
  stream.onUnit((unit) => {
    startMs ??= stream.runStartMs
    const caps = (): string => (stream.caps === undefined ? '' : formatRtpCaps(stream.caps))
    pipe.write(unit.packets(), { ms: unit.mediaMs - startMs, caps, entry: unit.key })
  })
  return stream
}
