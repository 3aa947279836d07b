import { maskDescription } from '../../lib/credentials/mask.ts'
import { MASK } from '../../lib/redact.ts'
import type { Codec } from '../../lib/schema/pipeline.ts'
import { isSecretProperty } from '../../lib/secret-names.ts'
import type { LaunchTokens } from '../gst/element.ts'
import type { Reach } from '../sandbox/sandbox.ts'

/** The names of the elements at whose pads RTP comes out: video, KLV, sound. A description may name its sound pay1. */
export type PayloaderName = 'pay0' | 'pay1' | 'sound'

export interface LaunchStream {
  readonly payloader: PayloaderName
  /** Descriptor of the child that carries its caps and RTP packets (engine/gst/gdp.ts). */
  readonly fd: number
  /** RTP caps known in advance, for a track that may stay silent; null: they come with its packets. */
  readonly caps: string | null
  /** The line itself makes it, whatever a source has. */
  readonly sure?: true
  /** The media is the whole MPEG-TS that contains the KLV, as RTP whose timestamps are the running time of its arrival. */
  readonly carries?: 'mpegts'
  /** The packets are of any size, and the engine makes those that fit the network of them. */
  readonly fragmenting?: true
}

/** How a line reads an MPEG-TS. */
interface TransportLine {
  /** It passes the video through, which has to be H.264 or H.265. */
  readonly passesVideo: boolean
  /** The program that it reads; left out: the one whose map comes first. */
  readonly program?: number | undefined
}

/** A launch line of gst-launch-1.0, and the streams that come out of it. */
export interface Launch {
  /** argv after gst-launch-1.0; options go before it. */
  readonly args: readonly string[]
  /** Media pipes in order: fd 3, fd 4. */
  readonly streams: readonly LaunchStream[]
  /** Of a line that reads an MPEG-TS. */
  readonly transport?: TransportLine
  /** There is a `pay0`, so the pipeline has an RTSP output. */
  readonly publishes: boolean
  /** It passes sound on as it is, or sound is the second payloader of a description; what cannot be carried is left out. */
  readonly copiesSound?: true
  /** Sound that the second payloader brings is to be encoded. */
  readonly soundEncoding?: { readonly codec: 'aac' | 'opus'; readonly kbps: number }
  /** The engine generates the KLV of a test source; its child has none. */
  readonly syntheticKlv?: true
  /** The line is the description of an advanced pipeline. */
  readonly advanced?: true
  /** What its child may reach in the sandbox. */
  readonly reach: Reach
  /** The arguments may hold credentials, so they are hidden from the list of processes. */
  readonly confidential: boolean
  /** The launch line with credentials masked. */
  readonly shown: LaunchTokens
}

export const KLV_CAPS =
  'application/x-rtp, media=(string)application, clock-rate=(int)90000, encoding-name=(string)SMPTE336M, payload=(int)97'
/** For KLV that the engine itself puts into RTP: its timestamps count running time, like those of the payloaders. */
export const OWN_KLV_CAPS = `${KLV_CAPS}, timestamp-offset=(uint)0`

/** A launch line that passed its dry run. */
export interface CheckedLaunch extends Launch {
  /** The codecs that it encodes to. */
  readonly codecs: readonly Codec[]
}

/** A reference to a pad of the element with this name: `name.` */
export const padOf = (name: string): LaunchTokens => [`${name}.`]

/** A launch token with its credentials masked. */
export const maskToken = (token: string): string => {
  const equals = token.indexOf('=')
  const name = token.slice(0, Math.max(0, equals))
  return isSecretProperty(name) ? `${name}=${MASK}` : maskDescription(token)
}

const shellQuote = (word: string): string => (/^[A-Za-z0-9_./:=,@%+-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`)

/** The launch line to paste into a shell, credentials masked and media pipes redirected to /dev/null. */
export const showLaunch = (launch: Launch): string => {
  const media = launch.streams.map(({ fd }) => ` ${fd}>/dev/null`).join('')
  return `gst-launch-1.0 -v ${launch.shown
    .flatMap((word) => word.split(' '))
    .map(shellQuote)
    .join(' ')}${media}`
}
