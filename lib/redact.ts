/** What stands where a credential stood. */
export const MASK = '***'

// Every expression begins with something it cannot begin with again inside its own match, so that a long hostile text costs linear time.

/** `user:password@` of a URI (RFC 3986 section 3.2.1): both parts go, since camera user names are secrets of their own. */
const USER_INFO = /(:\/\/)[^\s/?#@"']*(?:@[^\s/?#@"']*)*@/g

/** Header fields that are credentials as a whole. */
const HEADER = /((?<![a-z0-9])(?:proxy-)?(?:authorization|x-api-key|cookie)["']?[ \t]{0,8}:[ \t]{0,8})[^\r\n]+/gi

/** Names whose value is a secret, also as the end of a longer one: `access_token`. */
const NAMES =
  'password|passwd|passphrase|pwd|pw|user-id|token|secret|api[-_]?key|access[-_]?key|signature|sig|auth|streamid|x-api-key|authorization'
const BEGIN = '(?<![a-z0-9])'

/** In the query of a URI a value ends at the next `&`. (`pass` is a secret only here: x264enc has a property of that name.) */
const QUERY_PAIR = new RegExp(`([?&][^\\s&=?]{0,64}${BEGIN}(?:${NAMES}|pass)=)[^\\s&"']+`, 'gi')

/** A property or field: its value is quoted, or ends at a blank that is not escaped. */
const PROPERTY_PAIR = new RegExp(
  `(${BEGIN}(?:${NAMES})["']?\\s{0,8}[=:]\\s{0,8})("(?:[^"\\\\]|\\\\.)*"|'[^']*'|(?:\\\\.|[^\\s"'\\\\])+)`,
  'gis',
)

/** Masks the credentials in a text that is about to leave: log, error, API answer, event. When in doubt it masks more. */
export const redact = (text: string): string =>
  text.replace(USER_INFO, `$1${MASK}@`).replace(HEADER, `$1${MASK}`).replace(QUERY_PAIR, `$1${MASK}`).replace(PROPERTY_PAIR, maskProperty)

const maskProperty = (whole: string, name: string, value: string): string => {
  // `?token=***&fps=30`: what belongs to the secret is masked already, the rest of the query stays readable.
  if (value.startsWith(`${MASK}&`)) return whole
  const quote = /^["']/.exec(value)?.[0] ?? ''
  return `${name}${quote}${MASK}${quote}`
}
