import { ApiError } from './errors.ts'
import { orderedJson } from './json/ordered-json.ts'

/** A strong entity tag (RFC 9110 section 8.8.3) of a JSON value; the order of its fields does not count. */
export const etagOf = async (value: unknown): Promise<string> => {
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(orderedJson(value))))
  return `"${Array.from(digest.subarray(0, TAG_BYTES), (byte) => byte.toString(16).padStart(2, '0')).join('')}"`
}

const TAG_BYTES = 16

// A tag may contain commas, so a list is not split at them (RFC 9110 section 8.8.3).
const TAG = /(?:W\/)?"[\x21\x23-\x7e\x80-\xff]*"/g

/**
 * Whether If-Match or If-None-Match names this tag: `*`, a tag, or a list of tags. `strong`: a weak tag matches nothing
 * (section 8.8.3.2), as If-Match requires; otherwise weak and strong tags are equal.
 */
export const namesEtag = (header: string, etag: string, { strong }: { readonly strong: boolean }): boolean => {
  if (header.trim() === '*') return true
  const plain = (tag: string): string => (strong ? tag : tag.replace(/^W\//, ''))
  return (header.match(TAG) ?? []).some((tag) => plain(tag) === plain(etag)) && !(strong && etag.startsWith('W/'))
}

/** Throws PRECONDITION_FAILED when there is an If-Match (RFC 9110 section 13.1.1) that does not name this tag. */
export const requireMatch = (ifMatch: string | null, etag: string, what: string): void => {
  if (ifMatch === null || namesEtag(ifMatch, etag, { strong: true })) return
  throw new ApiError(
    'PRECONDITION_FAILED',
    `If-Match does not name the current ETag of the ${what}, which has changed since. Read it again, then repeat your change.`,
    { reason: 'changed' },
  )
}
