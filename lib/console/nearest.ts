const MAX_EDITS = 2
/** Longer words are not compared: the time grows with the product of the lengths. */
const MAX_LENGTH = 64

/** Insertions, deletions, replacements and swaps of neighbours that turn one word into the other (optimal string alignment). */
const edits = (one: string, other: string): number => {
  let [before, last]: [number[], number[]] = [[], Array.from({ length: other.length + 1 }, (_, at) => at)]
  for (let at = 1; at <= one.length; at += 1) {
    const row = [at]
    for (let to = 1; to <= other.length; to += 1) {
      const replaced = (last[to - 1] ?? 0) + (one[at - 1] === other[to - 1] ? 0 : 1)
      const swapped =
        at > 1 && to > 1 && one[at - 1] === other[to - 2] && one[at - 2] === other[to - 1] ? (before[to - 2] ?? 0) + 1 : replaced
      row[to] = Math.min(replaced, swapped, (last[to] ?? 0) + 1, (row[to - 1] ?? 0) + 1)
    }
    ;[before, last] = [last, row]
  }
  return last[other.length] ?? 0
}

/** The candidate that a mistyped word was meant to be: at most two edits away, and not by more than half of its letters. */
export const nearest = (word: string, candidates: Iterable<string>): string | undefined => {
  if (word.length > MAX_LENGTH) return undefined
  const found = [...candidates]
    .filter((candidate) => Math.abs(candidate.length - word.length) <= MAX_EDITS)
    .map((candidate) => ({ candidate, distance: edits(word, candidate) }))
    .filter(({ candidate, distance }) => distance <= MAX_EDITS && distance * 2 <= candidate.length)
    .sort((one, other) => one.distance - other.distance)
  return found[0]?.candidate
}

/** ` Did you mean ls?`, or nothing. */
export const didYouMean = (word: string, candidates: Iterable<string>): string => {
  const found = nearest(word, candidates)
  return found === undefined ? '' : ` Did you mean ${found}?`
}
