/** What stands where a credential stood. */
export const MASK = '***'

/** `user:password@` of a URI (RFC 3986 section 3.2.1): both parts go, since camera user names are secrets of their own. */
const USER_INFO = /([a-z][a-z0-9+.-]*:\/\/)[^\s/?#@"']*(?:@[^\s/?#@"']*)*@/gi

/** Query and property names whose value is a secret: `?token=`, `passphrase=`, `user-pw=`, `streamid=` … */
const SECRET_PAIR =
  /\b((?:user[-_]?)?(?:password|passwd|passphrase|pass|pwd|pw)|user-id|token|secret|api[-_]?key|access[-_]?key|signature|sig|auth|streamid|x-api-key|authorization)(\s*[=:]\s*)("(?:[^"\\]|\\.)*"|'[^']*'|(?:(?:basic|bearer|digest)\s+)?[^\s&"'#!,;)]+)/gi

/** Masks the credentials in a text that is about to leave: log, error, API answer, event. */
export const redact = (text: string): string => text.replace(USER_INFO, `$1${MASK}@`).replace(SECRET_PAIR, `$1$2${MASK}`)
