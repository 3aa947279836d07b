import { isRecord } from '../json/is-record.ts'

/**
 * The chain of a day: a line of JSON for each segment, in the order in which they were completed. `previous` is the SHA-256 (hex) of the
 * line before, of the first line that of the last line of the day before, or null; `signature` is made by Ed25519 over the line without it.
 * A line with `removed` instead of `segment` states that the service has removed every segment up to that one.
 */
export interface ChainLine {
  readonly pipeline_id: string
  readonly segment?: string
  readonly removed?: string
  readonly bytes?: number
  readonly sha256?: string
  readonly previous: string | null
  readonly signature: string
}

export type UnsignedLine = Omit<ChainLine, 'signature'> & Readonly<Record<string, unknown>>

const SIGNATURE = ',"signature":"'

/** The text that is signed. */
export const lineToSign = (line: UnsignedLine): string => JSON.stringify(line)

/** A line with its signature (base64), without its end. */
export const signedLine = (signed: string, signature: string): string => `${signed.slice(0, -1)}${SIGNATURE}${signature}"}`

/** A line and the text of it that is signed; undefined when it is no line of a chain. */
export const readLine = (text: string): { readonly line: ChainLine; readonly signed: string } | undefined => {
  const at = text.lastIndexOf(SIGNATURE)
  const line = at === -1 ? undefined : parsed(text)
  return line === undefined ? undefined : { line, signed: `${text.slice(0, at)}}` }
}

const parsed = (text: string): ChainLine | undefined => {
  try {
    const value: unknown = JSON.parse(text)
    if (!isRecord(value) || typeof value.signature !== 'string' || typeof value.pipeline_id !== 'string') return undefined
    if (value.previous !== null && typeof value.previous !== 'string') return undefined
    const names = typeof value.removed === 'string' || (typeof value.segment === 'string' && typeof value.sha256 === 'string')
    return names ? (value as unknown as ChainLine) : undefined
  } catch {
    return undefined
  }
}
