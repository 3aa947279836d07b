/** Slices and messages that fit into one packet; a packet of 64 kB has room for 20,000 without content. */
const MAX_UNITS = 256

interface AggregatedUnits<Bytes> {
  readonly units: readonly Bytes[]
  /** The sizes add up to the length of the packet. */
  readonly isWhole: boolean
}

/**
 * The NAL units behind the header of an aggregation packet, a 16-bit size before each (RFC 6184 section 5.7.1, RFC 7798 section 4.4.2),
 * up to one whose size contradicts the length, and no more of them than any encoder makes.
 */
export const aggregatedUnits = <Bytes extends Uint8Array>(sized: Bytes): AggregatedUnits<Bytes> => {
  const units: Bytes[] = []
  let at = 0
  while (at + 2 <= sized.length && units.length < MAX_UNITS) {
    const end = at + 2 + (((sized[at] ?? 0) << 8) | (sized[at + 1] ?? 0))
    if (end > sized.length) break
    units.push(sized.subarray(at + 2, end) as Bytes)
    at = end
  }
  return { units, isWhole: at === sized.length }
}
