import { namesEtag } from '../../lib/etag.ts'

/** Whether If-None-Match names this ETag (RFC 9110 section 13.1.2; weak comparison). */
export const matchesEtag = (request: Request, etag: string | null): boolean => {
  const header = request.headers.get('if-none-match')
  return header !== null && etag !== null && namesEtag(header, etag, { strong: false })
}

/** The If-Match of a change; null when it has none. */
export const ifMatchOf = (request: Request): string | null => request.headers.get('if-match')
