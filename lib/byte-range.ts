/** Bytes of a file, both included. */
export interface ByteRange {
  readonly first: number
  readonly last: number
}

const UNIT = 'bytes='

/** One range of bytes (RFC 9110 section 14.1.2); several ranges, and one that cannot be, are ignored. */
export const parseRange = (header: string | undefined, length: number): ByteRange | undefined => {
  if (header === undefined || header.length > 64 || !header.startsWith(UNIT)) return undefined
  const [begin = '', end, ...more] = header.slice(UNIT.length).trim().split('-')
  if (end === undefined || more.length > 0) return undefined
  const [first, last] = [digits(begin), digits(end)]
  if (first === undefined || last === undefined || (first === null && last === null)) return undefined
  if (first === null) return last === 0 ? undefined : { first: Math.max(0, length - (last ?? 0)), last: length - 1 }
  if (first >= length || (last !== null && last < first)) return undefined
  return { first, last: Math.min(last ?? length - 1, length - 1) }
}

/** Null for no digits, undefined for anything else. */
const digits = (text: string): number | null | undefined => {
  if (text === '') return null
  const value = Number(text)
  return Number.isSafeInteger(value) && value >= 0 && String(value) === text ? value : undefined
}
