import type { JpegAnswer } from '../../lib/engine/call.ts'
import { matchesEtag } from './conditional-request.ts'

/** Header fields of the engine's answer that clients receive. */
const FORWARDED = ['etag', 'last-modified', 'x-created-at', 'x-age-ms'] as const

/** A picture may need a password and may be deleted: caches must revalidate it. */
const PRIVATE = { 'cache-control': 'private, no-cache', 'x-content-type-options': 'nosniff' } as const

/** The JPEG of the engine, or 304 when the client has it. */
export const jpeg = async (
  request: Request,
  { headers, body }: JpegAnswer,
  more: Readonly<Record<string, string>> = {},
): Promise<Response> => {
  const passed = new Headers({ ...PRIVATE, ...more })
  for (const name of FORWARDED) {
    const value = headers.get(name)
    if (value !== null) passed.set(name, value)
  }
  const ageMs = Number(headers.get('x-age-ms') ?? Number.NaN)
  if (Number.isFinite(ageMs)) passed.set('age', String(Math.floor(ageMs / 1000)))
  if (matchesEtag(request, headers.get('etag'))) {
    if (body instanceof ReadableStream) await body.cancel()
    return new Response(null, { status: 304, headers: passed })
  }
  passed.set('content-type', 'image/jpeg')
  const length = headers.get('content-length')
  if (length !== null) passed.set('content-length', length)
  return new Response(body, { status: 200, headers: passed })
}
