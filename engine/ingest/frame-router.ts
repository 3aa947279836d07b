import type { Channels } from '../rtsp/protocol/transport.ts'
import type { FloodGuard } from './flood-guard.ts'
import type { TrackInput } from './track-input.ts'

/** Media before the response to PLAY waits for it, since RTP-Info says where the tracks begin. */
const MAX_EARLY_FRAMES = 16_384
const MAX_EARLY_BYTES = 16 * 1024 * 1024
/** A frame is a view of a larger read and keeps it in memory. */
const MAX_EARLY_READ_BYTES = 2 * MAX_EARLY_BYTES

/** Passes the frames of a connection to their tracks. */
export class FrameRouter {
  readonly #guard: FloodGuard
  readonly #inputs: TrackInput[] = []
  readonly #byChannel = new Map<number, TrackInput>()
  #early: { readonly channel: number; readonly payload: Buffer }[] | undefined = []
  #earlyBytes = 0
  #hasPackets = false
  #earlyReadBytes = 0

  /** `guard`: of the streams that the frames go to. */
  constructor(guard: FloodGuard) {
    this.#guard = guard
  }

  /** Returns false when another track has these channels: their frames could not be distinguished. */
  add(input: TrackInput, { rtp, rtcp }: Channels): boolean {
    if (this.#byChannel.has(rtp)) return false
    this.#inputs.push(input)
    this.#byChannel.set(rtp, input)
    if (rtcp !== undefined && !this.#byChannel.has(rtcp)) this.#byChannel.set(rtcp, input)
    return true
  }

  /** Any packet has come. */
  get hasPackets(): boolean {
    return this.#hasPackets
  }

  /** Frames are held: their memory must not change. */
  get holds(): boolean {
    return this.#early !== undefined || this.#inputs.some((input) => input.holds)
  }

  /** Counts bytes that were read; the frames are views of them. Throws RtpFramingError and Fault source_flood. */
  noteRead(bytes: number): void {
    if (this.#early === undefined) for (const input of this.#inputs) input.noteRead(bytes)
    else if (this.#early.length > 0) {
      this.#earlyReadBytes += bytes
      if (this.#earlyReadBytes > MAX_EARLY_READ_BYTES) this.play()
    }
  }

  /** The response to PLAY has come. */
  play(): void {
    const early = this.#early ?? []
    this.#early = undefined
    for (const { channel, payload } of early) this.take(channel, payload)
  }

  /** Throws RtpFramingError and Fault source_flood. */
  take(channel: number, payload: Buffer): void {
    this.#hasPackets = true
    if (this.#early === undefined) {
      this.#route(channel, payload)
      return
    }
    this.#early.push({ channel, payload })
    this.#earlyBytes += payload.length
    if (this.#early.length > MAX_EARLY_FRAMES || this.#earlyBytes > MAX_EARLY_BYTES) this.play()
  }

  #route(channel: number, payload: Buffer): void {
    let input = this.#byChannel.get(channel)
    if (input === undefined) {
      // Some servers use other channels than their response to SETUP states.
      input = this.#inputs.find((candidate) => candidate.claims(payload))
      if (input !== undefined) this.#byChannel.set(channel, input)
    }
    input?.take(payload, performance.now())
    this.#guard.check()
  }
}
