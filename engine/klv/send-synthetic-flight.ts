import { flightPacket } from '../../lib/st0601/synthetic-flight.ts'
import type { RtpStream } from '../rtp/stream.ts'
import { KlvPayloader } from './payloader.ts'

const INTERVAL_MS = 100
/** After a longer pause the flight continues with the present packet instead of sending the missed ones. */
const MAX_BEHIND_MS = 1000
const TICKS_PER_MS = 90

/**
 * Sends the synthetic ST 0601 flight as KLV of a test source: ten packets per second, on the clock of its video.
 * Returns the function that stops it.
 */
export const sendSyntheticFlight = (video: RtpStream, klv: RtpStream, now: () => number = Date.now): (() => void) => {
  const payloader = new KlvPayloader()
  let nextMs: number | undefined
  return video.onUnit(({ mediaMs }) => {
    nextMs = nextMs === undefined || mediaMs - nextMs > MAX_BEHIND_MS ? mediaMs : nextMs
    for (; nextMs <= mediaMs; nextMs += INTERVAL_MS) {
      const packet = flightPacket(Math.round(now() - (mediaMs - nextMs)))
      const timestamp = Math.round((nextMs - video.runStartMs) * TICKS_PER_MS)
      for (const rtp of payloader.packetize(packet, timestamp)) klv.ingestPacket(rtp)
    }
  })
}
