/** What a request URL names. */
export interface RequestTarget {
  /** `host:port` as the client wrote it; only characters of an address, so it can be sent back. */
  readonly authority: string
  readonly mountPath: string
  /** The rest after the mount's path: empty for the aggregate, else a track. */
  readonly control: string
}

const RTSP_URL = /^rtsp[su]?:\/\/([^/?#]*)(?:\/([^?#]*))?/i
const AUTHORITY = /^[A-Za-z0-9.:%_[\]-]*$/
const MAX_AUTHORITY_LENGTH = 255

/** Splits a request URL (RFC 2326 section 3.2) into mount and track; undefined when it is not an RTSP URL. */
export const parseRequestUrl = (url: string): RequestTarget | undefined => {
  if (url === '*') return { authority: '', mountPath: '', control: '' }
  const match = RTSP_URL.exec(url)
  if (!match) return undefined
  const [, named = '', path = ''] = match
  const authority = named.slice(named.lastIndexOf('@') + 1)
  if (authority.length > MAX_AUTHORITY_LENGTH || !AUTHORITY.test(authority)) return undefined
  const [mountPath = '', ...rest] = path.split('/')
  return { authority, mountPath, control: rest.join('/').replace(/(?<!\/)\/+$/, '') }
}
