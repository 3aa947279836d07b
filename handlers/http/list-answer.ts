import { type FoundPipeline, hasLastingText, serialize } from '../../lib/pipelines/serialize.ts'
import { readyHeaders } from './respond.ts'
import type { ReadyAnswer } from './route.ts'

/** Pipelines in a piece of a long list: 1 to 2 ms of work. */
const PER_PIECE = 250

/** A part of a list with its brackets and commas. */
interface Piece {
  readonly found: readonly FoundPipeline[]
  /** The list ends with it. */
  readonly last: boolean
  readonly json: Uint8Array<ArrayBuffer>
}

/**
 * Answers of lists: the JSON whole, or in pieces when it is long. Pieces of the last list are kept as bytes, and sent again while their
 * pipelines are the same, none runs, and none has changed: records and views are replaced, never changed.
 */
export const createListAnswer = (): ((found: readonly FoundPipeline[]) => ReadyAnswer) => {
  const headers = readyHeaders()
  const encoder = new TextEncoder()
  const kept: (Piece | undefined)[] = []
  const piece = (list: readonly FoundPipeline[], at: number): string | Uint8Array<ArrayBuffer> => {
    const number = at / PER_PIECE
    const found = list.slice(at, at + PER_PIECE)
    const last = at + PER_PIECE >= list.length
    const before = kept[number]
    if (before?.last === last && isSameList(before.found, found)) return before.json
    const json = `${at === 0 ? '[' : ','}${found.map(serialize).join()}${last ? ']' : ''}`
    kept[number] = found.every(({ view }) => hasLastingText(view)) ? { found, last, json: encoder.encode(json) } : undefined
    return kept[number]?.json ?? json
  }
  const pieces = function* (list: readonly FoundPipeline[]) {
    for (let at = 0; at < list.length; at += PER_PIECE) yield piece(list, at)
  }
  return (found) => {
    kept.length = Math.min(kept.length, Math.max(1, Math.ceil(found.length / PER_PIECE)))
    return { status: 200, headers, body: found.length <= PER_PIECE ? piece(found, 0) : pieces(found) }
  }
}

const isSameList = (one: readonly FoundPipeline[], other: readonly FoundPipeline[]): boolean =>
  one.length === other.length && one.every(({ record, view }, at) => record === other[at]?.record && view === other[at]?.view)
