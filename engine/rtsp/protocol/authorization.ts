/** The Authorization header of a request (RFC 7235 section 4.2), with the schemes that RTSP readers use. */
export type Authorization =
  | { readonly scheme: 'basic'; readonly username: string; readonly password: string }
  | { readonly scheme: 'digest'; readonly parameters: ReadonlyMap<string, string> }

const PARAMETER = /\s*([A-Za-z-]{1,32})\s*=\s*(?:"((?:\\.|[^"\\])*)"|([^\s,"]*))\s*(?:,|$)/y

/** Parses the header; undefined when it is malformed, repeats a parameter or has another scheme. */
export const parseAuthorization = (header: string): Authorization | undefined => {
  // Header fields are read as latin1; readers send names outside of ASCII as UTF-8.
  const text = Buffer.from(header, 'latin1').toString('utf8').trim()
  const [, scheme = '', rest = ''] = /^(basic|digest) +(.+)$/is.exec(text) ?? []
  if (scheme === '') return undefined
  return scheme.toLowerCase() === 'basic' ? parseBasic(rest) : parseDigest(rest)
}

/** RFC 7617 section 2. */
const parseBasic = (text: string): Authorization | undefined => {
  const decoded = Buffer.from(text.trim(), 'base64').toString('utf8')
  const colon = decoded.indexOf(':')
  return colon === -1 ? undefined : { scheme: 'basic', username: decoded.slice(0, colon), password: decoded.slice(colon + 1) }
}

/** RFC 7616 section 3.4. */
const parseDigest = (text: string): Authorization | undefined => {
  const parameters = new Map<string, string>()
  PARAMETER.lastIndex = 0
  while (PARAMETER.lastIndex < text.length) {
    const match = PARAMETER.exec(text)
    if (match === null) return undefined
    const [, name = '', quoted, token = ''] = match
    const key = name.toLowerCase()
    if (parameters.has(key)) return undefined
    parameters.set(key, quoted?.replace(/\\(.)/gs, '$1') ?? token)
  }
  return { scheme: 'digest', parameters }
}
