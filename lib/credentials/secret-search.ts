import { unescaped } from './escapes.ts'

/** A part of a text, as offsets: [start, end). */
export interface Span {
  readonly start: number
  readonly end: number
}

/** The secrets in a text, in order and without overlap; also the beginning of one at the very end, since the text may have been cut. */
export type SecretSearch = (text: string) => readonly Span[]

/** Shorter secrets count as whole words only, since they occur inside other words. */
const SHORT = 4

/** Finds the secrets in every form in which programs print them, in time linear in the text. */
export const secretSearch = (secrets: Iterable<string>): SecretSearch => {
  const automaton = new Automaton()
  for (const secret of secrets) for (const { bytes } of unescaped(secret)) automaton.add(bytes)
  automaton.link()
  return (text) => withoutOverlap(unescaped(text).flatMap(({ bytes, starts }) => automaton.find(bytes).flatMap(toSpans(text, starts))))
}

/** Bytes of one form of a text: [start, end). */
interface Match extends Span {
  /** Counts only as a whole word. */
  readonly isShort: boolean
}

const toSpans =
  (text: string, starts: Uint32Array) =>
  ({ start, end, isShort }: Match): readonly Span[] => {
    const span = { start: starts[start] ?? 0, end: starts[end] ?? text.length }
    return isShort && isInsideWord(text, span) ? [] : [span]
  }

const isInsideWord = (text: string, { start, end }: Span): boolean =>
  /[\p{L}\p{N}]$/u.test(text.slice(Math.max(start - 2, 0), start)) || /^[\p{L}\p{N}]/u.test(text.slice(end, end + 2))

/** Merges overlapping spans. */
const withoutOverlap = (spans: readonly Span[]): readonly Span[] => {
  const out: { start: number; end: number }[] = []
  for (const { start, end } of spans.toSorted((a, b) => a.start - b.start)) {
    const last = out.at(-1)
    if (last !== undefined && start < last.end) last.end = Math.max(last.end, end)
    else out.push({ start, end })
  }
  return out
}

const ROOT = 0

/** Finds any of several byte sequences in one pass (Aho and Corasick, 1975). A state stands for a prefix of a sequence. */
class Automaton {
  /** The state after another one and a byte, by 256 × state + byte. */
  readonly #next = new Map<number, number>()
  readonly #depth = [0]
  /** The state of the longest proper suffix. */
  readonly #fallback = [ROOT]
  /** Length of the longest sequence that ends in a state, 0 for none; short words separately. */
  readonly #ends = [0]
  readonly #shortEnds = [0]

  add(bytes: Uint8Array): void {
    if (bytes.length === 0) return
    let state = ROOT
    for (const byte of bytes) state = this.#next.get(256 * state + byte) ?? this.#newState(state, byte)
    const ends = characters(bytes) < SHORT ? this.#shortEnds : this.#ends
    ends[state] = bytes.length
  }

  #newState(before: number, byte: number): number {
    const state = this.#depth.push((this.#depth[before] ?? 0) + 1) - 1
    this.#fallback.push(ROOT)
    this.#ends.push(0)
    this.#shortEnds.push(0)
    this.#next.set(256 * before + byte, state)
    return state
  }

  /** Completes the automaton after the last `add`. */
  link(): void {
    const byDepth = [...this.#next].sort(([, a], [, b]) => (this.#depth[a] ?? 0) - (this.#depth[b] ?? 0))
    for (const [key, state] of byDepth) {
      const before = Math.floor(key / 256)
      const fallback = before === ROOT ? ROOT : this.#after(this.#fallback[before] ?? ROOT, key % 256)
      this.#fallback[state] = fallback
      for (const ends of [this.#ends, this.#shortEnds]) ends[state] = Math.max(ends[state] ?? 0, ends[fallback] ?? 0)
    }
  }

  #after(from: number, byte: number): number {
    for (let state = from; ; state = this.#fallback[state] ?? ROOT) {
      const next = this.#next.get(256 * state + byte)
      if (next !== undefined) return next
      if (state === ROOT) return ROOT
    }
  }

  find(bytes: Uint8Array): readonly Match[] {
    const matches: Match[] = []
    let state = ROOT
    for (let end = 1; end <= bytes.length; end += 1) {
      state = this.#after(state, bytes[end - 1] ?? 0)
      for (const [ends, isShort] of [[this.#ends, false] as const, [this.#shortEnds, true] as const]) {
        const length = ends[state] ?? 0
        if (length > 0) matches.push({ start: end - length, end, isShort })
      }
    }
    const begun = this.#depth[state] ?? 0
    if (begun >= SHORT) matches.push({ start: bytes.length - begun, end: bytes.length, isShort: false })
    return matches
  }
}

/** Characters of a text in UTF-8. */
const characters = (bytes: Uint8Array): number => bytes.reduce((count, byte) => count + ((byte & 0xc0) === 0x80 ? 0 : 1), 0)
