const PACKET = 188
const SYNC = 0x47
const RANGE = 2 ** 33
const TICKS = 90_000
/** Times that go back by more than this belong to another time line, also where the playlist does not say so; seconds. */
const BACKWARD_SECONDS = 1
/** Segments are somewhat longer or shorter than stated, and some are lost. */
const FORWARD_SECONDS = 60

/** Where the first picture of a segment begins at the latest. */
const MOST_BEFORE_VIDEO = 1024 * 1024
/** To be changed in one turn of the event loop. */
const TURN_BYTES = 256 * 1024

/** Lets the times of MPEG-TS segments go on over discontinuities: their PCR, PTS and DTS are moved in place. */
export class TransportTimes {
  #offset = 0
  /** Where the next segment is to begin, 90 kHz ticks. */
  #expected: number | undefined;

  /** Takes the segments in order; changes their bytes where their times do not go on. Yields now and then. */
  *pass(segment: Buffer, { seconds, discontinuity }: { readonly seconds: number; readonly discontinuity: boolean }): Generator<void, void> {
    const first = firstTime(segment.subarray(0, MOST_BEFORE_VIDEO))
    if (first === undefined) return
    const step = this.#expected === undefined ? 0 : signed(first + this.#offset - this.#expected)
    const jumps = step < -BACKWARD_SECONDS * TICKS || step > FORWARD_SECONDS * TICKS
    if (this.#expected !== undefined && (discontinuity || jumps)) this.#offset = modulo(this.#expected - first)
    this.#expected = modulo(first + this.#offset + Math.round(seconds * TICKS))
    if (this.#offset !== 0) yield* move(segment, this.#offset)
  }
}

const modulo = (value: number): number => ((value % RANGE) + RANGE) % RANGE

const signed = (difference: number): number => {
  const step = modulo(difference)
  return step < RANGE / 2 ? step : step - RANGE
}

/** Positions of whole transport packets. */
function* packets(segment: Buffer): Generator<number> {
  for (let at = 0; at + PACKET <= segment.length; at += PACKET) {
    if (segment[at] !== SYNC) at = nextSync(segment, at)
    if (at + PACKET <= segment.length) yield at
  }
}

const nextSync = (segment: Buffer, from: number): number => {
  for (let at = segment.indexOf(SYNC, from); at !== -1; at = segment.indexOf(SYNC, at + 1))
    if (at + PACKET >= segment.length || segment[at + PACKET] === SYNC) return at
  return segment.length
}

/** Where the payload of a packet begins, within it. */
const payloadAt = (segment: Buffer, at: number): number => (((segment[at + 3] ?? 0) & 0x20) === 0 ? 4 : 5 + (segment[at + 4] ?? 0))

/** Where the time stamps of a PES header are that begins in this packet: of its PTS, and of its DTS. */
const timesAt = (segment: Buffer, at: number): readonly number[] => {
  const starts = ((segment[at + 1] ?? 0) & 0x40) !== 0 && ((segment[at + 3] ?? 0) & 0x10) !== 0
  const pes = at + payloadAt(segment, at)
  if (!starts || pes + 19 > at + PACKET) return []
  const isPes = segment[pes] === 0 && segment[pes + 1] === 0 && segment[pes + 2] === 1 && (segment[pes + 6] ?? 0) >> 6 === 2
  const flags = (segment[pes + 7] ?? 0) >> 6
  if (!isPes || flags < 2) return []
  return flags === 3 ? [pes + 9, pes + 14] : [pes + 9]
}

/** Of the video, else of what comes first. */
const firstTime = (segment: Buffer): number | undefined => {
  let other: number | undefined
  for (const at of packets(segment)) {
    const [time] = timesAt(segment, at)
    if (time === undefined) continue
    // Where its stream id is; those of video begin with 1110 (ISO/IEC 13818-1 table 2-22).
    if ((segment[time - 6] ?? 0) >> 4 === 0xe) return readTime(segment, time)
    other ??= readTime(segment, time)
  }
  return other
}

function* move(segment: Buffer, offset: number): Generator<void, void> {
  let turn = TURN_BYTES
  for (const at of packets(segment)) {
    if (at > turn) {
      yield
      turn = at + TURN_BYTES
    }
    movePcr(segment, at, offset)
    for (const time of timesAt(segment, at)) writeTime(segment, time, modulo(readTime(segment, time) + offset))
  }
}

const movePcr = (segment: Buffer, at: number, offset: number): void => {
  const hasPcr = ((segment[at + 3] ?? 0) & 0x20) !== 0 && (segment[at + 4] ?? 0) >= 7 && ((segment[at + 5] ?? 0) & 0x10) !== 0
  if (!hasPcr) return
  const low = segment[at + 10] ?? 0
  const pcr = modulo(segment.readUInt32BE(at + 6) * 2 + (low >> 7) + offset)
  segment.writeUInt32BE(Math.floor(pcr / 2), at + 6)
  segment[at + 10] = (low & 0x7f) | ((pcr % 2) << 7)
}

/** 33 bits in five bytes, with marker bits in between; too many for JavaScript's bit operators. */
const readTime = (segment: Buffer, at: number): number => {
  const b = (i: number): number => segment[at + i] ?? 0
  return ((b(0) >> 1) & 7) * 2 ** 30 + (b(1) << 22) + ((b(2) >> 1) << 15) + (b(3) << 7) + (b(4) >> 1)
}

const writeTime = (segment: Buffer, at: number, time: number): void => {
  const low = time % 2 ** 30
  segment[at] = ((segment[at] ?? 0) & 0xf1) | (Math.floor(time / 2 ** 30) << 1)
  segment[at + 1] = low >> 22
  segment[at + 2] = ((low >> 14) & 0xfe) | 1
  segment[at + 3] = (low >> 7) & 0xff
  segment[at + 4] = ((low << 1) & 0xfe) | 1
}
