import type { JpegAnswer } from '../../lib/engine/call.ts'
import { isKnown } from './conditional.ts'

/** What the engine says of a picture and a client may know. */
const PASSED_ON = ['etag', 'last-modified', 'x-created-at', 'x-age-ms'] as const

/** Behind a password perhaps, and deleted at some time: whoever keeps it asks again. */
const ALWAYS = { 'cache-control': 'private, no-cache', 'x-content-type-options': 'nosniff' } as const

/** A JPEG as it comes from the engine, or 304 when the client has it. */
export const picture = async (
  request: Request,
  { headers, body }: JpegAnswer,
  more: Readonly<Record<string, string>> = {},
): Promise<Response> => {
  const passed = new Headers({ ...ALWAYS, ...more })
  for (const name of PASSED_ON) {
    const value = headers.get(name)
    if (value !== null) passed.set(name, value)
  }
  const ageMs = Number(headers.get('x-age-ms') ?? Number.NaN)
  if (Number.isFinite(ageMs)) passed.set('age', String(Math.floor(ageMs / 1000)))
  if (isKnown(request, headers.get('etag'))) {
    if (body instanceof ReadableStream) await body.cancel()
    return new Response(null, { status: 304, headers: passed })
  }
  passed.set('content-type', 'image/jpeg')
  const length = headers.get('content-length')
  if (length !== null) passed.set('content-length', length)
  return new Response(body, { status: 200, headers: passed })
}
