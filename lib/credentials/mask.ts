import { MASK, redact } from '../redact.ts'
import { isSecretParameter, isSecretProperty, isUserName } from '../secret-names.ts'
import { percentDecoded } from '../uri/percent-decoded.ts'

// Masking follows the structure of the text where it is known: in free text, the end of a password with quotes, blanks or @ cannot be
// found.

/** Called with each password or token, as it is written. */
type Found = (secret: string) => void

const ignore: Found = () => {}

interface Masking {
  readonly found: Found
  /** What stands in place of a secret. */
  readonly replace: (secret: string) => string
}

const masking = (found: Found): Masking => ({ found, replace: () => MASK })

/** An address with its credentials masked, whatever characters they contain (RFC 3986 sections 3.2.1 and 3.4). */
export const maskUri = (uri: string, found: Found = ignore): string => {
  const masked = maskCredentials(uri, masking(found))
  const [authority = ''] = AUTHORITY.exec(masked) ?? []
  return authority + redact(masked.slice(authority.length))
}

/** Host and port hold no secret: in `rtsp://auth:554`, auth is a host. */
const AUTHORITY = /^[a-z][a-z0-9+.-]*:\/\/(?:\*\*\*@)?(?:[a-z0-9._-]*|\[[0-9a-f:.]+\])(?::\d{1,5})?(?=[/?#]|$)/i

const USER_INFO = /^([a-z][a-z0-9+.-]*:\/\/)([^/?#]+)@/i

const maskCredentials = (uri: string, how: Masking): string => maskQuery(maskUserInfo(uri, how), how)

const maskUserInfo = (uri: string, { found, replace }: Masking): string =>
  uri.replace(USER_INFO, (_, scheme: string, userInfo: string) => {
    const colon = userInfo.indexOf(':')
    found(colon === -1 ? userInfo : userInfo.slice(colon + 1))
    return `${scheme}${replace(userInfo)}@`
  })

const maskQuery = (uri: string, { found, replace }: Masking): string => {
  const begin = uri.indexOf('?')
  if (begin === -1) return uri
  const pairs = uri.slice(begin + 1).split('&')
  const masked = pairs.map((pair) => {
    const equals = pair.indexOf('=')
    const name = percentDecoded(pair.slice(0, Math.max(equals, 0)))
    if (equals === -1 || !isSecretParameter(name)) return pair
    const secret = pair.slice(equals + 1)
    found(secret)
    return `${pair.slice(0, equals)}=${replace(secret)}`
  })
  return `${uri.slice(0, begin)}?${masked.join('&')}`
}

const MASKED = /:\/\/\*\*\*@|[=:]\s*["']?\*\*\*/

/** Whether an address or a description has the mask (`***`) in place of a credential. */
export const isMasked = (text: string): boolean => MASKED.test(text)

/** The begin of a property, or of an address by itself, and not the end of a longer name. */
const BEGIN = /(?<![A-Za-z0-9_%:.+-])(?:([A-Za-z0-9_][A-Za-z0-9_%:-]*)(\s*=\s*)(?:\([A-Za-z0-9-]+\)\s*)?|(?=[a-z][a-z0-9+.-]*:\/\/))/gi

/** Of descriptions inside properties, and structures inside those. */
const MAX_DEPTH = 4

/** A description in the syntax of gst-launch-1.0 with its credentials masked, whatever characters they contain. */
export const maskDescription = (description: string, found: Found = ignore): string =>
  redact(maskProperties(description, masking(found), 0))

/**
 * A description that GStreamer splits and judges like the given one, without its credentials: each letter of them is an `a`, each digit
 * a `1`. An element that a credential hides becomes one that does not exist.
 */
export const disguiseDescription = (description: string): string => maskProperties(description, { found: ignore, replace: disguise }, 0)

const BOOLEAN = /^(?:true|false|yes|no)$/i

const disguise = (secret: string): string =>
  BOOLEAN.test(secret) ? secret : secret.replace(/\d/g, '1').replace(/[A-Za-z\u0080-\uffff]/g, 'a')

const maskProperties = (text: string, how: Masking, depth: number): string => {
  let masked = ''
  let at = 0
  for (const match of text.matchAll(BEGIN)) {
    if (match.index < at) continue
    const begin = match.index + match[0].length
    const value = text.slice(begin, begin + valueLength(text, begin))
    if (value === '') continue
    masked += text.slice(at, begin) + maskValue(match[1] ?? '', value, how, depth)
    at = begin + value.length
  }
  return masked + text.slice(at)
}

const maskValue = (name: string, value: string, how: Masking, depth: number): string => {
  const { open, inner, close } = unquoted(value)
  if (isSecretProperty(name)) {
    if (!isUserName(name)) how.found(inner)
    return `${open}${how.replace(inner)}${close}`
  }
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(inner)) return `${open}${maskCredentials(inner, how)}${close}`
  return depth < MAX_DEPTH && /[=:]/.test(inner) ? `${open}${maskProperties(inner, how, depth + 1)}${close}` : value
}

/** Inside another value, a quote is escaped. */
const QUOTE = /^(\\*["'])/

const unquoted = (value: string): { readonly open: string; readonly inner: string; readonly close: string } => {
  const quote = QUOTE.exec(value)?.[1] ?? ''
  const isQuoted = quote !== '' && value.length >= 2 * quote.length && value.endsWith(quote)
  return isQuoted ? { open: quote, inner: value.slice(quote.length, -quote.length), close: quote } : { open: '', inner: value, close: '' }
}

const PLAIN = /(?:\\[^\n]|[^\s\\]|\\(?![^\n]))+/y

/** As in GStreamer's lexer: a quoted text, or everything up to an unescaped blank, whichever is longer. */
const valueLength = (text: string, at: number): number => {
  PLAIN.lastIndex = at
  const plain = PLAIN.exec(text)?.[0].length ?? 0
  const quote = QUOTE.exec(text.slice(at, at + 16))?.[1]
  if (quote === undefined) return plain
  let end = text.indexOf(quote, at + quote.length)
  while (end !== -1 && text[end - 1] === '\\') end = text.indexOf(quote, end + 1)
  // The quote is not closed: everything after it may belong to it.
  return end === -1 ? text.length - at : Math.max(plain, end - at + quote.length)
}
