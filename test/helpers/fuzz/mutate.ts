/** Returns a whole number below its argument. */
export type Below = (limit: number) => number

const INTERESTING = [0, 1, 0x7f, 0x80, 0xff, 0x24, 0x47, 0x0a, 0x0d, 0x3b, 0x3d, 0x22, 0x5c] as const
const MAX_BYTES = 16 * 1024

const MUTATIONS: readonly ((bytes: Buffer, below: Below, other: Buffer) => Buffer)[] = [
  // A bit.
  (bytes, below) => changed(bytes, below(bytes.length), (byte) => byte ^ (1 << below(8))),
  (bytes, below) => changed(bytes, below(bytes.length), () => INTERESTING[below(INTERESTING.length)] ?? 0),
  (bytes, below) => changed(bytes, below(bytes.length), () => below(256)),
  // A part is left out, repeated, or taken from another input.
  (bytes, below) => spliced(bytes, below, () => Buffer.alloc(0)),
  (bytes, below) => {
    const [from, to] = span(bytes.length, below)
    const part = bytes.subarray(from, to)
    return Buffer.concat([bytes.subarray(0, to), ...Array.from({ length: 1 + below(200) }, () => part), bytes.subarray(to)])
  },
  (bytes, below, other) => spliced(bytes, below, () => other.subarray(...span(other.length, below))),
  // Numbers in texts.
  (bytes, below) => {
    const at = bytes.findIndex((byte, index) => byte >= 0x30 && byte <= 0x39 && index >= below(bytes.length))
    const number = ['0', '-1', '4294967295', '99999999999999999999', '1e9', '00000000'][below(6)] ?? ''
    return at === -1 ? bytes : Buffer.concat([bytes.subarray(0, at), Buffer.from(number), bytes.subarray(at + 1)])
  },
]

const changed = (bytes: Buffer, at: number, change: (byte: number) => number): Buffer => {
  const copy = Buffer.from(bytes)
  if (copy.length > 0) copy[at] = change(copy[at] ?? 0)
  return copy
}

const span = (length: number, below: Below): [from: number, to: number] => {
  const from = below(length + 1)
  return [from, Math.min(length, from + 1 + below(64))]
}

const spliced = (bytes: Buffer, below: Below, part: () => Buffer): Buffer => {
  const [from, to] = span(bytes.length, below)
  return Buffer.concat([bytes.subarray(0, from), part(), bytes.subarray(to)])
}

/** Some changes to an input; `other` is one that parts may be taken from. */
export const mutate = (bytes: Buffer, other: Buffer, below: Below): Buffer => {
  let mutated = bytes
  for (let left = 1 + below(4); left > 0; left -= 1) mutated = MUTATIONS[below(MUTATIONS.length)]?.(mutated, below, other) ?? mutated
  return mutated.subarray(0, MAX_BYTES)
}
