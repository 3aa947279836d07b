import { CODECS } from '../../codec/codecs.ts'
import type { MediaReceiver } from '../../mpegts/klv-demuxer.ts'
import type { PesPacket } from '../../mpegts/pes.ts'
import type { ElementaryStream } from '../../mpegts/psi.ts'
import type { RtpStream } from '../../rtp/stream.ts'
import { soundKindOf } from './sound-kinds.ts'
import { SoundPackets } from './sound-packets.ts'
import { VideoPackets } from './video-packets.ts'

/** Where the video and the sound of an MPEG-TS go. */
interface MediaOutput {
  readonly video: RtpStream
  /** Undefined when sound is not wanted. */
  readonly sound: RtpStream | undefined
  /** Running time of a presentation time stamp, 90 kHz ticks that do not wrap. */
  readonly ticksOf: (pts: number) => number
  /** Packets of the video or of the sound are missing. */
  readonly onGap: () => void
  /** The tracks of sound, the one that is carried before all others, if any is. */
  readonly onSound: (codecs: readonly string[], isCarried: boolean) => void
}

/** A key frame of 4K at 200 Mbit/s has less. */
const MAX_PICTURE_BYTES = 16 * 1024 * 1024
const MAX_SOUND_BYTES = 256 * 1024

const NAMES: ReadonlyMap<number, string> = new Map([...CODECS].map(([name, { streamType }]) => [streamType, name]))

/** The stream types of MPEG-TS whose video is passed through. */
export const PASSED_TYPES: ReadonlySet<number> = new Set(NAMES.keys())

/** Puts the video and the sound of an MPEG-TS into RTP, as they are. */
export class TransportMedia implements MediaReceiver {
  readonly #output: MediaOutput
  #video: { readonly pid: number; readonly packets: VideoPackets } | undefined
  #sound: { readonly pid: number; readonly packets: SoundPackets } | undefined
  #hasChosen = false

  constructor(output: MediaOutput) {
    this.#output = output
  }

  select(streams: readonly ElementaryStream[]): ReadonlyMap<number, { readonly maxBytes: number }> {
    const video = streams.find(({ type }) => PASSED_TYPES.has(type))
    const sound = this.#output.sound && this.#chooseSound(streams, this.#output.sound)
    if (video?.pid !== this.#video?.pid) this.#video = video && this.#openVideo(video)
    return new Map([
      ...(video === undefined ? [] : [[video.pid, { maxBytes: MAX_PICTURE_BYTES }] as const]),
      ...(sound === undefined ? [] : [[sound, { maxBytes: MAX_SOUND_BYTES }] as const]),
    ])
  }

  take(pid: number, pes: PesPacket): void {
    if (pid === this.#video?.pid) this.#video.packets.take(pes)
    else if (pid === this.#sound?.pid) this.#sound.packets.take(pes)
  }

  lost(pid: number): void {
    if (pid === this.#video?.pid) this.#video.packets.lost()
    else if (pid === this.#sound?.pid) this.#sound.packets.lost()
    this.#output.onGap()
  }

  #openVideo({ pid, type }: ElementaryStream) {
    const { video, ticksOf } = this.#output
    return { pid, packets: new VideoPackets(NAMES.get(type) === 'H265' ? 'H265' : 'H264', video, ticksOf) }
  }

  /** The PID of the first sound that can be carried. */
  #chooseSound(streams: readonly ElementaryStream[], stream: RtpStream): number | undefined {
    const tracks = streams.flatMap((each) => {
      const kind = soundKindOf(each)
      return kind === undefined ? [] : [{ pid: each.pid, ...kind }]
    })
    const carried = tracks.find(({ reader }) => reader !== undefined)
    // Readers no longer wait for it.
    if (carried === undefined && stream.awaitsCaps) stream.begin()
    if (this.#hasChosen && carried?.pid === this.#sound?.pid) return carried?.pid
    this.#hasChosen = true
    const first = carried ?? tracks[0]
    this.#output.onSound(
      first === undefined ? [] : [first, ...tracks.filter((each) => each !== first)].map(({ codec }) => codec),
      carried !== undefined,
    )
    if (carried?.reader === undefined) {
      this.#sound = undefined
      return undefined
    }
    this.#sound = { pid: carried.pid, packets: new SoundPackets(carried.reader(), stream, this.#output.ticksOf) }
    return carried.pid
  }
}
