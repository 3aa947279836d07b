import type { Channels } from '../rtsp/protocol/transport.ts'
import type { FloodGuard } from './flood-guard.ts'
import type { TrackInput } from './track-input.ts'

/** Media that comes before the response to PLAY waits for it, because that says where the tracks begin. */
const MAX_EARLY_FRAMES = 16_384
const MAX_EARLY_BYTES = 16 * 1024 * 1024
/** A frame is a view of what was read, and keeps what came beside it. */
const MAX_EARLY_READ_BYTES = 2 * MAX_EARLY_BYTES

/** Brings the frames of a connection to their tracks. */
export class FrameRouter {
  readonly #guard: FloodGuard
  readonly #inputs: TrackInput[] = []
  readonly #byChannel = new Map<number, TrackInput>()
  #early: { readonly channel: number; readonly payload: Buffer }[] | undefined = []
  #earlyBytes = 0
  #earlyReadBytes = 0

  /** `guard`: of the streams that the frames go to. */
  constructor(guard: FloodGuard) {
    this.#guard = guard
  }

  /** False: a track with these channels is there already, so their frames cannot be told apart. */
  add(input: TrackInput, { rtp, rtcp }: Channels): boolean {
    if (this.#byChannel.has(rtp)) return false
    this.#inputs.push(input)
    this.#byChannel.set(rtp, input)
    if (rtcp !== undefined && !this.#byChannel.has(rtcp)) this.#byChannel.set(rtcp, input)
    return true
  }

  /** Frames that came are still needed. */
  get holds(): boolean {
    return this.#early !== undefined || this.#inputs.some((input) => input.holds)
  }

  /** So many bytes came over the connection, with the frames among them. Throws RtpFramingError and Fault source_flood. */
  noteRead(bytes: number): void {
    if (this.#early === undefined) for (const input of this.#inputs) input.noteRead(bytes)
    else if (this.#early.length > 0) {
      this.#earlyReadBytes += bytes
      if (this.#earlyReadBytes > MAX_EARLY_READ_BYTES) this.play()
    }
  }

  /** The response to PLAY is here. */
  play(): void {
    const early = this.#early ?? []
    this.#early = undefined
    for (const { channel, payload } of early) this.take(channel, payload)
  }

  /** Throws RtpFramingError and Fault source_flood. */
  take(channel: number, payload: Buffer): void {
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
      // Some servers use other channels than those of their response to SETUP.
      input = this.#inputs.find((candidate) => candidate.claims(payload))
      if (input !== undefined) this.#byChannel.set(channel, input)
    }
    input?.take(payload, performance.now())
    this.#guard.check()
  }
}
