/** Whether the client has this content already (RFC 9110 section 13.1.2): If-None-Match compares weakly. */
export const isKnown = (request: Request, etag: string | null): boolean => {
  const header = request.headers.get('if-none-match')
  if (header === null || etag === null) return false
  const plain = (tag: string): string => tag.trim().replace(/^W\//, '')
  return header.trim() === '*' || header.split(',').some((tag) => plain(tag) === plain(etag))
}
