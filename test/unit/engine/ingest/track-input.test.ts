import { expect, it } from 'vitest'
import { TrackInput } from '../../../../engine/ingest/track-input.ts'
import { parseRtpCaps } from '../../../../engine/rtp/caps.ts'
import { RtpStream } from '../../../../engine/rtp/stream.ts'
import { H264_CAPS, rtpPacket } from '../../../helpers/rtsp/packets.ts'

const RATE = 90_000
const PLAYED_MS = 1000
/** Of the first packet, after the answer to PLAY. */
const ARRIVES_AFTER_MS = 40

/** Milliseconds from the answer to PLAY to the first packet, as its timestamp has them then; `byInfoMs`: as RTP-Info has them. */
const firstAfter = (byInfoMs: number | undefined): number => {
  const caps = parseRtpCaps(H264_CAPS)
  if (caps === undefined) throw new Error('The caps are not RTP')
  const track = { control: undefined, profile: 'RTP/AVP', payload: 96, caps }
  const input = new TrackInput(track, { stream: new RtpStream(), onEnd: () => {} })
  const begin = 7_000_000
  input.played(PLAYED_MS, byInfoMs === undefined ? undefined : begin)
  const packet = rtpPacket({ sequence: 1, timestamp: begin + ((byInfoMs ?? 0) * RATE) / 1000 })
  input.take(packet, PLAYED_MS + ARRIVES_AFTER_MS)
  return ((packet.readUInt32BE(4) | 0) * 1000) / RATE
}

it.each([
  ['as RTP-Info has it', 500, 500],
  ['as RTP-Info has it, 4.9 s after its arrival', 4900, 4900],
  ['as RTP-Info has it, 4.9 s before', -4900, -4900],
  ['by its arrival when RTP-Info is 5.1 s beside it', 5100, ARRIVES_AFTER_MS],
  ['by its arrival when RTP-Info is 5.1 s before it', -5100, ARRIVES_AFTER_MS],
  ['by its arrival without RTP-Info', undefined, ARRIVES_AFTER_MS],
])('the first packet of a track comes after PLAY %s', (_how, byInfoMs, expected) => {
  expect(firstAfter(byInfoMs)).toBe(expected)
})
