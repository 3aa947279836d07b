import { parseAacConfig } from '../../codec/audio/aac.ts'
import { opusChannels } from '../../codec/audio/opus.ts'
import type { RtpCaps } from '../../rtp/caps.ts'
import type { RtpStream } from '../../rtp/stream.ts'
import { aacCaps, aacPayloads } from '../demux/aac-rtp.ts'
import { MpegAudioReader } from '../demux/mpeg-audio-reader.ts'
import { opusCaps } from '../demux/opus-reader.ts'
import { RtpPackets } from '../demux/rtp-packets.ts'

const TICKS_PER_SECOND = 90_000
const SEQUENCE_HEADER = 0
/** SoundFormat of annex E.4.2.1, and of Enhanced RTMP version 2. */
const [MP3, PCMA, PCMU, ENHANCED, AAC] = [2, 7, 8, 9, 10] as const
/** What is not carried as it is, by its name. */
const OTHERS: Readonly<Record<number, string>> = {
  0: 'pcm',
  1: 'adpcm',
  3: 'pcm',
  4: 'nellymoser',
  5: 'nellymoser',
  6: 'nellymoser',
  11: 'speex',
}
const G711_RATE = 8000

/** A frame: the payloads of its packets, and how long after the time of its tag it begins, ticks of the clock of the RTP. */
interface Frame {
  readonly payloads: readonly Uint8Array[]
  readonly later: number
}

/** Puts the sound of FLV into RTP. */
export class FlvSound {
  readonly #stream: RtpStream
  readonly #packets: RtpPackets
  readonly #mpegAudio = new MpegAudioReader()
  #caps: RtpCaps | undefined
  #config = ''

  constructor(stream: RtpStream) {
    this.#stream = stream
    this.#packets = new RtpPackets(stream)
  }

  /** Takes the data of an audio tag, and its running time. Returns the name of a codec that is not carried as it is. */
  take(data: Buffer, ticks: number): string | undefined {
    const format = (data[0] ?? 0) >> 4
    if (format === ENHANCED) return this.#takeNamed(data, ticks)
    if (format === AAC) this.#takeAac(data.subarray(2), data[1] === SEQUENCE_HEADER, ticks)
    else if (format === MP3) this.#takeMp3(data.subarray(1), ticks)
    else if (format === PCMA || format === PCMU) this.#send([{ payloads: [data.subarray(1)], later: 0 }], g711(format), ticks)
    else return OTHERS[format] ?? 'unknown'
    return undefined
  }

  /** After the format a packet type, then the name of the codec. */
  #takeNamed(data: Buffer, ticks: number): string | undefined {
    const name = data.toString('latin1', 1, 5)
    const begins = ((data[0] ?? 0) & 0x0f) === SEQUENCE_HEADER
    const body = data.subarray(5)
    if (name === 'mp4a') this.#takeAac(body, begins, ticks)
    else if (name === 'Opus' && !begins && body.length > 0)
      this.#send([{ payloads: [body], later: 0 }], this.#caps ?? opusCaps(opusChannels(body)), ticks)
    else if (name !== 'Opus') return name.replace(/[^\w-]/g, '').toLowerCase()
    return undefined
  }

  #takeAac(body: Buffer, begins: boolean, ticks: number): void {
    if (!begins) {
      if (this.#caps !== undefined && body.length > 0) this.#send([{ payloads: aacPayloads(body), later: 0 }], this.#caps, ticks)
      return
    }
    const config = body.toString('hex')
    const parsed = parseAacConfig(body)
    if (parsed === undefined || config === this.#config) return
    this.#config = config
    this.#setCaps(aacCaps({ ...parsed, config }))
  }

  #takeMp3(body: Buffer, ticks: number): void {
    let later = 0
    const frames = this.#mpegAudio.push(body).map(({ payloads, duration }): Frame => {
      later += duration
      return { payloads, later: later - duration }
    })
    if (this.#mpegAudio.caps !== undefined) this.#send(frames, this.#mpegAudio.caps, ticks)
  }

  #send(frames: readonly Frame[], caps: RtpCaps, ticks: number): void {
    if (caps !== this.#caps) this.#setCaps(caps)
    for (const { payloads, later } of frames)
      this.#packets.send(payloads, { type: caps.payload, ticks: (ticks * caps.clockRate) / TICKS_PER_SECOND + later })
  }

  #setCaps(caps: RtpCaps): void {
    this.#caps = caps
    this.#stream.setCaps(caps)
  }
}

const G711 = {
  [PCMA]: { media: 'audio', encodingName: 'PCMA', payload: 8, clockRate: G711_RATE, parameters: new Map([['timestamp-offset', '0']]) },
  [PCMU]: { media: 'audio', encodingName: 'PCMU', payload: 0, clockRate: G711_RATE, parameters: new Map([['timestamp-offset', '0']]) },
} as const satisfies Record<number, RtpCaps>

const g711 = (format: typeof PCMA | typeof PCMU): RtpCaps => G711[format]
