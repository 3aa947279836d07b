/** A challenge of WWW-Authenticate, or the credentials of Authorization (RFC 7235 section 2.1). Other schemes are left out. */
export interface Authentication {
  readonly scheme: 'basic' | 'digest'
  /** The credentials of Basic (RFC 7617 section 2), in Base64; empty in a challenge. */
  readonly token: string
  /** Names in lower case. */
  readonly parameters: ReadonlyMap<string, string>
  /** A part cannot be read, or a parameter is repeated. Cameras send such challenges. */
  readonly malformed: boolean
}

/** A scheme, with the token of Basic; a parameter (auth-param); a comma; blanks; anything else. */
const PART =
  /(?<scheme>basic|digest)(?=[\s,]|$)(?:(?<=basic)\s+(?<token>[\w+/.~-]+=*)(?=\s*(?:,|$)))?|(?<name>[a-z-]{1,32})\s*=\s*(?:"(?<quoted>(?:\\.|[^"\\])*)"|(?<plain>[^\s,"]*))|(?<comma>,)|\s+|[^\s,]+/gis

/** Parses either header field; one line may hold several challenges (RFC 7235 section 4.1). The first value of a parameter counts. */
export const parseAuthentication = (header: string): readonly Authentication[] => {
  const found: (Authentication & { readonly parameters: Map<string, string>; malformed: boolean })[] = []
  let separated = true
  // Header fields are read as latin1; names outside of ASCII are sent as UTF-8.
  for (const { 0: part, groups = {} } of Buffer.from(header, 'latin1').toString('utf8').matchAll(PART)) {
    const current = found.at(-1)
    const { scheme, token = '', name, quoted, plain = '', comma } = groups
    if (scheme !== undefined) {
      found.push({ scheme: scheme.toLowerCase() === 'basic' ? 'basic' : 'digest', token, parameters: new Map(), malformed: false })
      separated = true
    } else if (comma !== undefined) separated = true
    else if (current !== undefined && part.trim() !== '') {
      const key = name?.toLowerCase()
      current.malformed ||= key === undefined || !separated || current.parameters.has(key)
      if (key !== undefined && !current.parameters.has(key)) current.parameters.set(key, quoted?.replace(/\\(.)/gs, '$1') ?? plain)
      separated = false
    }
  }
  return found
}
