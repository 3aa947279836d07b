import { matchesEtag } from '../http/conditional-request.ts'

/** A static file of a page. */
export interface Asset {
  readonly type: string
  readonly etag: string
  readonly bytes: Uint8Array<ArrayBuffer>
}

/** The file, or 304 when the client has this version. */
export const assetResponse = (request: Request, { type, etag, bytes }: Asset): Response => {
  const headers = { 'content-type': type, 'cache-control': 'no-cache', etag }
  return matchesEtag(request, etag) ? new Response(null, { status: 304, headers }) : new Response(bytes, { headers })
}
