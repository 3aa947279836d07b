/** SHA-256 of a text, as base64url. */
export const sha256 = async (text: string): Promise<string> => toBase64url(await digest(text))

/** Compares two secrets in constant time: compares all bytes of their digests. */
export const equalSecrets = async (left: string, right: string): Promise<boolean> => {
  const [one, other] = await Promise.all([digest(left), digest(right)])
  let difference = 0
  for (let index = 0; index < one.length; index += 1) difference |= (one[index] ?? 0) ^ (other[index] ?? 0)
  return difference === 0
}

const TOKEN_BYTES = 32

/** A new session token: 32 random bytes, base64url. */
export const randomToken = (): string => toBase64url(crypto.getRandomValues(new Uint8Array(TOKEN_BYTES)))

const digest = async (text: string): Promise<Uint8Array> =>
  new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text)))

/** RFC 4648 section 5, without padding. */
const toBase64url = (bytes: Uint8Array): string =>
  btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '')
