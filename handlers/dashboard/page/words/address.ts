/** An address without its user name and password, and these as they are, not encoded. */
export interface Address {
  readonly uri: string
  readonly user: string
  readonly password: string
  /** Whether the service has credentials for it, which it never shows (`***`). */
  readonly keepsCredentials: boolean
}

const WITH_CREDENTIALS: ReadonlySet<string> = new Set(['rtsp', 'rtsps', 'rtspt', 'http', 'https', 'rtmp', 'rtmps'])

const MASK = '***'

/** Scheme, user info and the rest; undefined for an address whose scheme has no credentials. */
const partsOf = (uri: string): readonly [scheme: string, userInfo: string | undefined, rest: string] | undefined => {
  const colon = uri.indexOf('://')
  const scheme = uri.slice(0, Math.max(0, colon)).trim().toLowerCase()
  if (!WITH_CREDENTIALS.has(scheme)) return undefined
  const after = uri.slice(colon + 3)
  const end = [...after].findIndex((sign) => sign === '/' || sign === '?' || sign === '#')
  const at = after.slice(0, end === -1 ? undefined : end).lastIndexOf('@')
  return [scheme, at === -1 ? undefined : after.slice(0, at), after.slice(at + 1)]
}

/** Whether an address may have a user name and a password; one that is not there yet may. */
export const takesCredentials = (uri: string): boolean => uri.trim() === '' || partsOf(uri) !== undefined

/** Moves the credentials of a typed or stored address to fields of their own. */
export const splitAddress = (uri: string): Address => {
  const [scheme, userInfo, rest] = partsOf(uri) ?? []
  if (userInfo === undefined) return { uri, user: '', password: '', keepsCredentials: false }
  const bare = `${scheme}://${rest}`
  if (userInfo === MASK) return { uri: bare, user: '', password: '', keepsCredentials: true }
  const colon = userInfo.indexOf(':')
  const user = colon === -1 ? userInfo : userInfo.slice(0, colon)
  return { uri: bare, user: decoded(user), password: colon === -1 ? '' : decoded(userInfo.slice(colon + 1)), keepsCredentials: false }
}

/** The address with its credentials, encoded (RFC 3986 section 3.2.1). */
export const joinAddress = ({ uri, user, password, keepsCredentials }: Address): string => {
  const [scheme, userInfo, rest] = partsOf(uri.trim()) ?? []
  // An address that has its credentials has just been typed.
  if (scheme === undefined || userInfo !== undefined) return uri.trim()
  if (user !== '' || password !== '')
    return `${scheme}://${encodeURIComponent(user)}${password === '' ? '' : `:${encodeURIComponent(password)}`}@${rest}`
  return keepsCredentials ? `${scheme}://${MASK}@${rest}` : uri.trim()
}

const decoded = (text: string): string => {
  try {
    return decodeURIComponent(text)
  } catch {
    // A percent sign that stands for itself.
    return text
  }
}
