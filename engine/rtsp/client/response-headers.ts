/** The session of a response (RFC 2326 section 12.37). */
export interface SessionHeader {
  readonly id: string
  /** After so many seconds without a request the server ends the session. */
  readonly timeoutSeconds: number
}

/** RFC 2326 section 12.37: assumed when the server names no timeout. */
const DEFAULT_TIMEOUT_SECONDS = 60

/** Undefined when the header is missing or has no id. */
export const parseSession = (header: string | undefined): SessionHeader | undefined => {
  const [, id] = /^\s*([^;\s]{1,512})/.exec(header ?? '') ?? []
  if (id === undefined) return undefined
  const seconds = Number(/;\s*timeout\s*=\s*(\d{1,6})(?!\d)/i.exec(header ?? '')?.[1])
  return { id, timeoutSeconds: seconds >= 1 ? seconds : DEFAULT_TIMEOUT_SECONDS }
}

/** Interleaved channels: of RTP, and of RTCP when there is one. */
export interface Channels {
  readonly rtp: number
  readonly rtcp: number | undefined
}

/** The channels in the Transport header of a response; `asked` when it names none; undefined for another transport than TCP. */
export const parseChannels = (header: string | undefined, asked: Channels): Channels | undefined => {
  const [spec = ''] = (header ?? '').split(',', 1)
  const [, first, second] = /;\s*interleaved\s*=\s*(\d{1,3})(?:\s*-\s*(\d{1,3}))?/i.exec(spec) ?? []
  if (first === undefined) return spec.trim() === '' || /^\s*RTP\/AVP\/TCP\b/i.test(spec) ? asked : undefined
  const [rtp, rtcp] = [Number(first), second === undefined ? undefined : Number(second)]
  return rtp > 255 || (rtcp ?? 0) > 255 ? asked : { rtp, rtcp: rtcp === rtp ? undefined : rtcp }
}

/** Where a track begins (RTP-Info, RFC 2326 section 12.33). */
export interface RtpStart {
  readonly url: string
  /** RTP timestamp of the moment of PLAY. */
  readonly timestamp: number
}

const MAX_STARTS = 32

export const parseRtpInfo = (header: string | undefined): readonly RtpStart[] =>
  (header ?? '')
    .slice(0, 8192)
    .split(/,\s*(?=url\s*=)/i, MAX_STARTS)
    .flatMap((entry) => {
      const [, url] = /^\s*url\s*=\s*"?([^";]+)/i.exec(entry) ?? []
      const [, time] = /;\s*rtptime\s*=\s*(\d{1,10})/i.exec(entry) ?? []
      const timestamp = Number(time)
      return url === undefined || time === undefined || timestamp > 0xffffffff ? [] : [{ url: url.trim(), timestamp }]
    })

/** The methods of Public or Allow. */
export const parseMethods = (header: string | undefined): ReadonlySet<string> =>
  new Set((header ?? '').split(',', 64).map((method) => method.trim().toUpperCase()))
