import { redact } from '../../lib/redact.ts'
import { tokenize } from '../gst/description.ts'
import type { LaunchTokens } from '../gst/element.ts'

export interface LaunchStream {
  readonly payloader: 'pay0' | 'pay1'
  /** Descriptor of the child that carries its RTP, RFC 4571 framed. */
  readonly fd: number
  /** RTP caps known in advance, for a track that may stay silent; null when the child prints them. */
  readonly caps: string | null
  /** What comes is the whole MPEG-TS that the KLV is in, as RTP whose timestamps are the running time of its arrival. */
  readonly carries?: 'mpegts'
}

/** What is run: the arguments of gst-launch-1.0, and what comes out where. */
export interface Launch {
  /** argv after gst-launch-1.0; options go before it. */
  readonly args: readonly string[]
  /** Media pipes in order: fd 3, fd 4. */
  readonly streams: readonly LaunchStream[]
  readonly publishes: boolean
  /** The engine itself makes the KLV: a test source has none in its child. */
  readonly klvFlight?: true
  /** The description with credentials masked, a shell word each. */
  readonly shown: readonly string[]
}

export const KLV_CAPS =
  'application/x-rtp, media=(string)application, clock-rate=(int)90000, encoding-name=(string)SMPTE336M, payload=(int)97'
/** Of KLV that the engine puts into RTP: its timestamps count running time, as those of the payloaders do. */
export const OWN_KLV_CAPS = `${KLV_CAPS}, timestamp-offset=(uint)0`

/** A pad of the element with this name: `name.` */
export const from = (name: string): LaunchTokens => [`${name}.`]

const SECRET_NAMES =
  /^(?:user-?id|user-?pw|username|password|pass|passphrase|streamid|proxy-id|proxy-pw|token|secret|access-key|secret-access-key)$/i

/** A token of the line to show, its credentials masked. */
export const mask = (word: string): string => {
  const equals = word.indexOf('=')
  const name = word.slice(0, Math.max(0, equals)).trim().replaceAll('_', '-')
  return SECRET_NAMES.test(name) ? `${name}=***` : redact(word)
}

export const maskDescription = (description: string): string =>
  redact(
    tokenize(description)
      .map((token) => (token.kind === 'assignment' ? mask(token.text) : token.text))
      .join(''),
  )

const shellQuote = (word: string): string => (/^[A-Za-z0-9_./:=,@%+-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`)

/** The line to paste into a shell, credentials masked; what the engine would read goes to /dev/null. */
export const showLaunch = (launch: Launch): string => {
  const media = launch.streams.map(({ fd }) => ` ${fd}>/dev/null`).join('')
  return `gst-launch-1.0 -v ${launch.shown
    .flatMap((word) => word.split(' '))
    .map(shellQuote)
    .join(' ')}${media}`
}
