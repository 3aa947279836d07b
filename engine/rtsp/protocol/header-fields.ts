/** The Session field (RFC 2326 section 12.37). */
export interface SessionField {
  readonly id: string
  /** The server ends the session after this time without a request. */
  readonly timeoutSeconds: number
}

/** RFC 2326 section 12.37: without a timeout in the field. */
const DEFAULT_TIMEOUT_SECONDS = 60

/** Undefined when the field is missing or has no id. */
export const parseSession = (header: string | undefined): SessionField | undefined => {
  const [, id] = /^\s*([^;\s]{1,512})/.exec(header ?? '') ?? []
  if (id === undefined) return undefined
  const seconds = Number(/;\s*timeout\s*=\s*(\d{1,6})(?!\d)/i.exec(header ?? '')?.[1])
  return { id, timeoutSeconds: seconds >= 1 ? seconds : DEFAULT_TIMEOUT_SECONDS }
}

/** Where a track begins (RTP-Info, RFC 2326 section 12.33). */
export interface RtpStart {
  readonly url: string
  /** RTP timestamp of the moment of PLAY. */
  readonly timestamp: number
}

const MAX_STARTS = 32

/** Not split at every comma: servers put URLs with commas there. */
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
