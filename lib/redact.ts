import { SECRET_HEADER, SECRET_NAME, SECRET_PARAMETER } from './secret-names.ts'

/** Replaces a credential. */
export const MASK = '***'

// No expression can match again inside its own match, so hostile texts take linear time.

/**
 * `user:password@` of a URI (RFC 3986 section 3.2.1). Both parts are masked: user names of cameras are secrets too. An empty one,
 * as ffmpeg writes multicast addresses (`udp://@239.1.2.3:5000`), holds no secret.
 */
const USER_INFO = /(:\/\/)(?:[^\s/?#@"']+|(?=@[^\s/?#@"']*@))(?:@[^\s/?#@"']*)*@/g

const HEADER = new RegExp(`(${SECRET_HEADER}["']?[ \\t]{0,8}:[ \\t]{0,8})[^\\r\\n]+`, 'gi')

/** In the query of a URI a value ends at the next `&`. */
const QUERY_PAIR = new RegExp(`([?&][^\\s&=?]{0,64}${SECRET_PARAMETER}=)[^\\s&"']+`, 'gi')

/** A property or field: its value is quoted or ends at an unescaped blank. */
const PROPERTY_PAIR = new RegExp(`(${SECRET_NAME}["']?\\s{0,8}[=:]\\s{0,8})("(?:[^"\\\\]|\\\\.)*"|'[^']*'|(?:\\\\.|[^\\s"'\\\\])+)`, 'gis')

/** Masks the credentials in a text for a log, an error, an API answer or an event. When in doubt it masks too much. */
export const redact = (text: string): string =>
  text.replace(USER_INFO, `$1${MASK}@`).replace(HEADER, `$1${MASK}`).replace(QUERY_PAIR, `$1${MASK}`).replace(PROPERTY_PAIR, maskProperty)

const maskProperty = (whole: string, name: string, value: string): string => {
  // `?token=***&fps=30`: the secret is masked already; keep the rest of the query readable.
  if (value.startsWith(`${MASK}&`)) return whole
  const quote = /^["']/.exec(value)?.[0] ?? ''
  return `${name}${quote}${MASK}${quote}`
}
