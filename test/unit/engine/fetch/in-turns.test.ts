import { expect, it } from 'vitest'
import { inTurns, piecesInTurns } from '../../../../engine/fetch/in-turns.ts'

/** How often other work has its turn until this is done. */
const turnsDuring = async (work: Promise<unknown>): Promise<number> => {
  let [turns, over] = [0, false]
  const count = (): void => {
    turns += 1
    if (!over) setImmediate(count)
  }
  setImmediate(count)
  await work
  over = true
  return turns
}

it('gives a chunk of any size in pieces, with a turn for others between them', async () => {
  const chunks = [Buffer.alloc(8 * 1024 * 1024, 1), Buffer.alloc(10, 2)]
  const pieces: Buffer[] = []
  const read = async (): Promise<void> => {
    async function* stream() {
      yield* chunks
    }
    for await (const piece of piecesInTurns(stream())) pieces.push(piece)
  }
  expect(await turnsDuring(read())).toBeGreaterThan(100)
  expect(Buffer.concat(pieces).equals(Buffer.concat(chunks))).toBe(true)
  expect(Math.max(...pieces.map(({ length }) => length))).toBeLessThan(100_000)
})

it('does work with a turn for others at each of its yields', async () => {
  function* work(): Generator<void, string> {
    for (let at = 0; at < 20; at += 1) yield
    return 'done'
  }
  const done = inTurns(work())
  expect(await turnsDuring(done)).toBeGreaterThan(10)
  expect(await done).toBe('done')
})
