/** Whether If-None-Match names this ETag (RFC 9110 section 13.1.2; weak comparison). */
export const matchesEtag = (request: Request, etag: string | null): boolean => {
  const header = request.headers.get('if-none-match')
  if (header === null || etag === null) return false
  const plain = (tag: string): string => tag.trim().replace(/^W\//, '')
  return header.trim() === '*' || header.split(',').some((tag) => plain(tag) === plain(etag))
}
