/**
 * The GStreamer Data Protocol, version 1.0 (gst-plugins-bad, gst/gdp/dataprotocol.c): buffers with their times, caps and events
 * over a pipe, as gdppay writes and gdpdepay reads them. Without checksums: a pipe changes nothing.
 */

const HEADER_BYTES = 62
const VERSION = 1
const TYPE_OFFSET = 4
const LENGTH_OFFSET = 6
const PTS_OFFSET = 10
const DTS_OFFSET = 44
/** Duration, offset and end of offset. */
const UNSET_OFFSETS = [18, 26, 34, DTS_OFFSET]
const NONE = 0xffff_ffff_ffff_ffffn

const BUFFER = 1
const CAPS = 2
/** Added to the number of an event (gstevent.h). */
const EVENT = 64
const STREAM_START = 10_254
const SEGMENT = 17_934
const SEGMENT_DONE = 38_406

/** Packets of one type and time, in one piece of memory. */
const packets = (type: number, payloads: readonly Buffer[], pts = NONE): Buffer => {
  const header = Buffer.alloc(HEADER_BYTES)
  header[0] = VERSION
  header.writeUInt16BE(type, TYPE_OFFSET)
  header.writeBigUInt64BE(pts, PTS_OFFSET)
  for (const offset of UNSET_OFFSETS) header.writeBigUInt64BE(NONE, offset)
  const whole = Buffer.allocUnsafe(payloads.reduce((sum, { length }) => sum + HEADER_BYTES + length, 0))
  let at = 0
  for (const payload of payloads) {
    header.copy(whole, at)
    whole.writeUInt32BE(payload.length, at + LENGTH_OFFSET)
    at += HEADER_BYTES + payload.copy(whole, at + HEADER_BYTES)
  }
  return whole
}

const text = (value: string): Buffer => Buffer.from(`${value}\0`)

const UNLIMITED_SEGMENT = [
  'flags=(GstSegmentFlags)GST_SEGMENT_FLAG_NONE',
  'rate=(double)1',
  'applied-rate=(double)1',
  'format=(GstFormat)time',
  'base=(guint64)0',
  'offset=(guint64)0',
  'start=(guint64)0',
  `stop=(guint64)${NONE}`,
  'time=(guint64)0',
  'position=(guint64)0',
  `duration=(guint64)${NONE}`,
].join(', ')

/** What a stream of buffers with these caps begins with. */
export const gdpStart = (caps: string): Buffer =>
  Buffer.concat([
    packets(EVENT + STREAM_START, [text('GstEventStreamStart, stream-id=(string)media, flags=(GstStreamFlags)GST_STREAM_FLAG_NONE;')]),
    packets(CAPS, [text(caps)]),
    packets(EVENT + SEGMENT, [text(`GstEventSegment, segment=(GstSegment)"segment, ${UNLIMITED_SEGMENT};";`)]),
  ])

/** Buffers; their presentation time in nanoseconds, undefined: none. */
export const gdpBuffers = (payloads: readonly Buffer[], pts?: bigint): Buffer => packets(BUFFER, payloads, pts)

/** Says that all until this time, in nanoseconds, was sent: decoders give out what they hold. */
export const gdpSegmentDone = (position: bigint): Buffer =>
  packets(EVENT + SEGMENT_DONE, [text(`GstEventSegmentDone, format=(GstFormat)time, position=(gint64)${position};`)])

export interface GdpBuffer {
  readonly payload: Buffer
  /** Presentation time in nanoseconds. */
  readonly pts: bigint
}

export interface GdpHandlers {
  /** The payload is a view of the chunk where it lies in one piece. */
  readonly onBuffer: (buffer: GdpBuffer) => void
  /** The caps of the buffers that follow, as text. */
  readonly onCaps?: (caps: string) => void
}

/** Splits what gdppay writes into its buffers and their caps; skips events. Holds at most one partial packet. */
export class GdpReader {
  readonly #maxPayloadBytes: number
  readonly #handlers: GdpHandlers
  #chunks: Buffer[] = []
  #held = 0
  #needed = HEADER_BYTES
  /** Left of an event of any size, which is not held. */
  #skipping = 0
  #broken = false

  constructor(maxPayloadBytes: number, handlers: GdpHandlers) {
    this.#maxPayloadBytes = maxPayloadBytes
    this.#handlers = handlers
  }

  /** Calls back for all that this chunk completes. False from where it is another protocol, or a payload is too large. */
  push(chunk: Buffer): boolean {
    if (this.#broken) return false
    this.#chunks.push(chunk)
    this.#held += chunk.length
    if (this.#held < this.#needed) return true
    const data = joined(this.#chunks)
    const end = this.#takeAll(data)
    this.#chunks = this.#broken || end === data.length ? [] : [data.subarray(end)]
    this.#held = this.#broken ? 0 : data.length - end
    return !this.#broken
  }

  /** Takes all that is complete; answers where the rest begins. */
  #takeAll(data: Buffer): number {
    let at = Math.min(this.#skipping, data.length)
    this.#skipping -= at
    for (;;) {
      this.#needed = HEADER_BYTES
      if (data.length - at < HEADER_BYTES) return at
      const [type, start] = [data.readUInt16BE(at + TYPE_OFFSET), at + HEADER_BYTES]
      const end = start + data.readUInt32BE(at + LENGTH_OFFSET)
      const isEvent = type >= EVENT
      this.#broken = data[at] !== VERSION || (!isEvent && end - start > this.#maxPayloadBytes)
      if (this.#broken) return at
      if (isEvent) {
        at = Math.min(end, data.length)
        this.#skipping = end - at
        continue
      }
      this.#needed = end - at
      if (end > data.length) return at
      const payload = data.subarray(start, end)
      if (type === BUFFER) this.#handlers.onBuffer({ payload, pts: data.readBigUInt64BE(at + PTS_OFFSET) })
      else if (type === CAPS) this.#handlers.onCaps?.(textOf(payload))
      at = end
    }
  }
}

const joined = (chunks: readonly Buffer[]): Buffer => (chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks))

/** Ends with a zero. */
const textOf = (payload: Buffer): string => payload.toString('utf8', 0, payload.length - 1)
