import type { RtpStream } from '../rtp/stream.ts'
import { KlvPayloader } from './payloader.ts'
import { flightPacket } from './st0601/synthetic-flight.ts'

const INTERVAL_MS = 100
/** After a pause the flight goes on with the present instead of making up for it. */
const MAX_BEHIND_MS = 1000
const TICKS_PER_MS = 90

/** Sends the synthetic ST 0601 flight beside the video of a test source, ten packets per second of it and on its clock; returns what ends that. */
export const sendSyntheticFlight = (video: RtpStream, klv: RtpStream, now: () => number = Date.now): (() => void) => {
  const packetizer = new KlvPayloader()
  let nextMs: number | undefined
  return video.onUnit(({ mediaMs }) => {
    nextMs = nextMs === undefined || mediaMs - nextMs > MAX_BEHIND_MS ? mediaMs : nextMs
    for (; nextMs <= mediaMs; nextMs += INTERVAL_MS) {
      const packet = flightPacket(Math.round(now() - (mediaMs - nextMs)))
      klv.ingest(packetizer.frame(packet, Math.round((nextMs - video.runStartMs) * TICKS_PER_MS)))
    }
  })
}
