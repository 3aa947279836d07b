import { expect, it } from 'vitest'
import { corpusOf, tryInput } from '../helpers/fuzz/fuzz.ts'
import { mutate } from '../helpers/fuzz/mutate.ts'
import { FUZZ_TARGETS } from '../helpers/fuzz/targets.ts'
import { createRandom, rounds } from '../helpers/random.ts'

const SEED = Number(process.env.TEST_SEED ?? 7)

it.each(FUZZ_TARGETS.map((target) => [target.name, target] as const))('the corpus of %s, also changed, makes no fault', (name, target) => {
  const { integer, pick } = createRandom(SEED)
  const corpus = corpusOf(name)
  expect(corpus.length).toBeGreaterThan(1)
  for (const input of corpus) tryInput(target, input)
  for (let round = 0; round < rounds(300); round += 1) {
    const input = mutate(pick(corpus), pick(corpus), (limit) => integer(Math.max(limit, 1)))
    expect(() => tryInput(target, input), `seed ${SEED}, round ${round}`).not.toThrow()
  }
})
