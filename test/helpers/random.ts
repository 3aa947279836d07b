/** A seeded random generator (mulberry32), so that a failure can be repeated. */
export const createRandom = (seed: number) => {
  let state = seed >>> 0
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296
  }
  const integer = (below: number): number => Math.floor(next() * below)
  const pick = <T>(values: readonly T[]): T => {
    const value = values[integer(values.length)]
    if (value === undefined && values.length === 0) throw new RangeError('Nothing to pick from')
    return value as T
  }
  return { next, integer, pick, chance: (probability: number): boolean => next() < probability }
}

export type Random = ReturnType<typeof createRandom>

/** How many rounds a random suite runs: `few`, times TEST_ROUNDS where that is set. */
export const rounds = (few: number): number => few * Number(process.env.TEST_ROUNDS ?? 1)
