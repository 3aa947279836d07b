import { readerAddress } from '../../../client/reader-address.ts'

export interface WatchParts {
  readonly id: string
  /** Address of the output. */
  readonly output: string
  /** Address of the page. */
  readonly page: string
  /** Address of `stream.ts`. */
  readonly stream: string
  /** Address of `live.m3u8`. */
  readonly playlist: string
  /** The name of the host as this browser reaches it. */
  readonly host: string
  /** The user name of readers, if they need a password. */
  readonly user: string | undefined
  /** How outputs speak TLS. */
  readonly tls: string
  /** Whether the API needs a credential. */
  readonly needsKey: boolean
}

/** Escapes a user name for a URL in a shell command. */
const escaped = (user: string): string =>
  encodeURIComponent(user).replaceAll(/[!'()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`)

/** Addresses and commands to watch a pipeline elsewhere, by name. VLC reads MPEG-TS: that of Debian and Ubuntu has no RTSP. */
export const watchLines = (parts: WatchParts): readonly (readonly [name: string, text: string])[] => {
  const { output, page, stream, playlist, host, user, tls, needsKey } = parts
  const credentials = user === undefined ? '' : `${escaped(user)}:PASSWORD@`
  const rtsp = readerAddress(output, host).replace('://', `://${credentials}`)
  const rtsps = rtsp.replace(/^rtsp:/, 'rtsps:')
  const isSecret = tls === 'required'
  const first = isSecret ? rtsps : rtsp
  return [
    ...(isSecret ? [] : [['RTSP', rtsp] as const]),
    ...(tls === 'optional' || isSecret ? [['RTSPS', rtsps] as const] : []),
    ['HTTP', stream],
    ['HLS', playlist],
    ['Browser', page],
    ['VLC', needsKey ? `curl -sN -H 'X-API-Key: KEY' '${stream}' | vlc -` : `vlc '${stream}'`],
    ['ffplay', `ffplay -fflags nobuffer -rtsp_transport tcp '${first}'`],
    ['GStreamer', `gst-launch-1.0 rtspsrc location='${first}' protocols=tcp latency=0 ! decodebin ! autovideosink`],
  ]
}

/** The address of the picture alone, and the element that shows it in another page. */
export const shareLines = (address: string): readonly (readonly [name: string, text: string])[] => [
  ['Picture', address],
  ['iframe', `<iframe src="${address}" width="640" height="360" style="border:0" allow="fullscreen"></iframe>`],
]

/** Whether an address works on this computer alone. */
export const isLoopback = (host: string): boolean =>
  host === 'localhost' || host.endsWith('.localhost') || host === '[::1]' || host.startsWith('127.')
