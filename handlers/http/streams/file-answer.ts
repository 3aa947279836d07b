import type { FileAnswer } from '../../../lib/engine/call.ts'
import { streamAnswer } from './stream-body.ts'

const PASSED = ['content-length', 'content-range', 'accept-ranges'] as const

/** Bytes of the engine as they come. */
export const file = ({ status, headers, body }: FileAnswer, contentType: string): Response => {
  const passed = PASSED.flatMap((name) => {
    const value = headers.get(name)
    return value === null ? [] : [[name, value] as const]
  })
  return streamAnswer(body, { ...Object.fromEntries(passed), 'content-type': contentType, 'x-content-type-options': 'nosniff' }, status)
}

/** A text that changes. */
export const text = (body: string, contentType: string): Response =>
  new Response(body, { headers: { 'content-type': contentType, 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' } })
