/** A box of ISO/IEC 14496-12 section 4.2. */
export const box = (type: string, ...parts: readonly Uint8Array[]): Buffer => {
  const head = Buffer.alloc(8)
  head.writeUInt32BE(
    parts.reduce((sum, { length }) => sum + length, 8),
    0,
  )
  head.write(type, 4, 'latin1')
  return Buffer.concat([head, ...parts])
}

export const fullBox = (type: string, version: number, flags: number, ...parts: readonly Uint8Array[]): Buffer =>
  box(type, words((version << 24) | flags), ...parts)

export const words = (...values: readonly number[]): Buffer => {
  const bytes = Buffer.alloc(values.length * 4)
  for (const [at, value] of values.entries()) bytes.writeUInt32BE(value >>> 0, at * 4)
  return bytes
}

/** 64 bits. */
export const long = (value: number): Buffer => words(Math.floor(value / 2 ** 32), value)

/** A box that says nothing, of this many bytes: 8 at least. */
export const freeBox = (bytes: number): Buffer => box('free', Buffer.alloc(bytes - 8))

/** Where the boxes of a type begin, also inside of others, of those that mediabunny writes into a movie header. */
export const findBoxes = (bytes: Buffer, type: string): readonly number[] => {
  const found: number[] = []
  for (let at = bytes.indexOf(type, 0, 'latin1'); at >= 0; at = bytes.indexOf(type, at + 4, 'latin1')) found.push(at - 4)
  return found
}
