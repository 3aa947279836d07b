/** Packets of frames that are not shown yet; a decoder holds fewer frames. */
const MAX_WAITING = 256

/** Keeps the KLV of frames until they are shown. */
export const createFrameKlv = () => {
  const waiting = new Map<number, Uint8Array>()
  return {
    /** `timestamp`: that of its frame. */
    take: (timestamp: number, packet: Uint8Array): void => {
      waiting.set(timestamp, packet)
      const [oldest] = waiting.keys()
      if (waiting.size > MAX_WAITING && oldest !== undefined) waiting.delete(oldest)
    },
    /** The packet of a frame that is shown now, or of the last one before it that had any; undefined without a new one. */
    shown: (timestamp: number): Uint8Array | undefined => {
      let latest = Number.NEGATIVE_INFINITY
      let found: Uint8Array | undefined
      for (const [time, packet] of waiting) {
        if (time > timestamp) continue
        if (time > latest) found = packet
        latest = Math.max(latest, time)
        waiting.delete(time)
      }
      return found
    },
  }
}
