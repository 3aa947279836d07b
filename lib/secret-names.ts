/** Names whose value is a secret in any text, also at the end of a longer name such as `access_token`. A dash is `-`, `_` or nothing. */
const SECRET_NAMES = [
  'password',
  'passwd',
  'passphrase',
  'pwd',
  'pw',
  'user-id',
  'token',
  'secret',
  'api-key',
  'access-key',
  'signature',
  'sig',
  'auth',
  'streamid',
  'authorization',
  'cookie',
  'cookies',
]

const anyOf = (...names: readonly string[]): string => `(?<![a-z0-9])(?:${names.join('|').replaceAll('-', '[-_]?')})`

/** The end of a secret name, as the source of an expression for texts in any case. */
export const SECRET_NAME = anyOf(...SECRET_NAMES)
/** The same in the query of an address; x264enc has a property `pass`, so elsewhere it is none. */
export const SECRET_PARAMETER = anyOf(...SECRET_NAMES, 'pass')
/** Header fields whose whole value is a secret. */
export const SECRET_HEADER = anyOf('authorization', 'x-api-key', 'cookie')

const isNamed = (expression: string) => {
  const atEnd = new RegExp(`${expression}$`, 'i')
  return (name: string): boolean => atEnd.test(name.trim())
}

/** Whether a parameter in the query of an address is a secret. */
export const isSecretParameter = isNamed(SECRET_PARAMETER)
/** Whether a property of an element is a secret. */
export const isSecretProperty = isNamed(anyOf(...SECRET_NAMES, 'username'))
/** A user name is masked where it stands, but a word such as `viewer` is no secret elsewhere. */
export const isUserName = isNamed(anyOf('user-id', 'username'))
