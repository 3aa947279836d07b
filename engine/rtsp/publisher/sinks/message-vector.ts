import type { Datagrams } from '../../../rtp/access-unit.ts'

/** Limits of one message: UDP_MAX_SEGMENTS of Linux is 64, its IP packet has at most 65,535 bytes. */
const MAX_SEGMENTS = 44
const MAX_MESSAGE_BYTES = 64_000

// Values of Linux, the same on every architecture that Node.js runs on.
const [SOL_UDP, UDP_SEGMENT] = [17, 103]

// Sizes in the C library of a system with pointers of 8 bytes: struct mmsghdr (sendmmsg(2)), iovec, and a cmsghdr with 16 bits.
const [HEADER_BYTES, IOVEC_BYTES, CONTROL_BYTES, CONTROL_LENGTH] = [64, 16, 24, 18]

/** The messages for one call of sendmmsg(2) on a connected socket. */
export interface MessageVector {
  /** `struct mmsghdr[]`, followed by the data that it points to. */
  readonly headers: Buffer
  /** How many packets each message carries. */
  readonly packets: readonly number[]
}

/**
 * Packets from number `from` up to `to`, in as few messages as possible: with `segmenting`, the kernel splits a message into packets of
 * one size, of which the last may be smaller (UDP_SEGMENT, udp(7)). Valid while `datagrams` is referenced. `addressOf` returns the
 * address of the first byte of a buffer.
 */
export const messageVector = (
  datagrams: Datagrams,
  { from, to, segmenting }: { readonly from: number; readonly to: number; readonly segmenting: boolean },
  addressOf: (bytes: Buffer) => bigint,
): MessageVector => {
  const { data, starts } = datagrams
  const packets: number[] = []
  for (let at = from; at < to; at += packets.at(-1) ?? 1) packets.push(segmenting ? segmentsAt(starts, at, to) : 1)
  const headers = Buffer.alloc(packets.length * (HEADER_BYTES + IOVEC_BYTES + CONTROL_BYTES))
  const [dataAddress, headersAddress] = [addressOf(data), addressOf(headers)]
  const [words, halves, shorts] = [new BigUint64Array(headers.buffer), new Uint32Array(headers.buffer), new Uint16Array(headers.buffer)]
  let first = from
  for (const [at, count] of packets.entries()) {
    const [header, iovec] = [at * HEADER_BYTES, packets.length * HEADER_BYTES + at * IOVEC_BYTES]
    const start = starts[first] ?? 0
    words[header / 8 + 2] = headersAddress + BigInt(iovec)
    words[header / 8 + 3] = 1n
    words[iovec / 8] = dataAddress + BigInt(start)
    words[iovec / 8 + 1] = BigInt((starts[first + count] ?? start) - start)
    if (count > 1) {
      const control = packets.length * (HEADER_BYTES + IOVEC_BYTES) + at * CONTROL_BYTES
      words[header / 8 + 4] = headersAddress + BigInt(control)
      words[header / 8 + 5] = BigInt(CONTROL_BYTES)
      words[control / 8] = BigInt(CONTROL_LENGTH)
      halves[control / 4 + 2] = SOL_UDP
      halves[control / 4 + 3] = UDP_SEGMENT
      shorts[control / 2 + 8] = (starts[first + 1] ?? start) - start
    }
    first += count
  }
  return { headers, packets }
}

/** How many packets from this one on the kernel can split a message into. */
const segmentsAt = (starts: readonly number[], from: number, to: number): number => {
  const start = starts[from] ?? 0
  const size = (starts[from + 1] ?? start) - start
  let count = 1
  while (count < MAX_SEGMENTS && from + count < to) {
    const next = (starts[from + count + 1] ?? 0) - (starts[from + count] ?? 0)
    if (next > size || (starts[from + count + 1] ?? 0) - start > MAX_MESSAGE_BYTES) break
    count += 1
    if (next < size) break
  }
  return count
}
