import { describe, expect, it } from 'vitest'
import { AccessUnit } from '../../../../engine/rtp/access-unit.ts'
import { GopCache } from '../../../../engine/rtp/gop-cache.ts'

/** `K`: a key frame; a digit: one whose pictures are whole after so many more; anything else: another picture. */
const unitsOf = (kinds: string): readonly AccessUnit[] =>
  [...kinds].map((kind, index) => {
    const header = { payload: 96, ssrc: 1, sequences: [index], timestamp: index * 3000 }
    const key = /[K0-9]/.test(kind)
    const recoveryFrames = kind === 'K' ? 0 : Number(kind)
    return new AccessUnit([Buffer.alloc(100)], header, { index, key, mediaMs: index, arrivedMs: index, ...(key && { recoveryFrames }) })
  })

/** The numbers of the cached units after those of `kinds`. */
const cached = (kinds: string, limits = {}): readonly number[] => {
  const cache = new GopCache(limits)
  for (const unit of unitsOf(kinds)) cache.add(unit)
  return (cache.gop?.units ?? []).map(({ index }) => index)
}

describe('the cached GOP', () => {
  it.each([
    ['nothing before the first key frame', '..', []],
    ['begins at the newest key frame', 'K..K.', [3, 4]],
    ['begins at the first key frame, also while its pictures are not whole yet', '.3.', [1, 2]],
    ['keeps the one before a key frame until the pictures after that are whole', '3....3..', [0, 1, 2, 3, 4, 5, 6, 7]],
    ['begins at the key frame when they are', '3....3...', [5, 6, 7, 8]],
    ['is not kept for ever by key frames that come before the ones before are whole', '3.3.3.', [2, 3, 4, 5]],
    ['begins at a key frame that is whole at once, whatever was before', '3....3.K.', [7, 8]],
  ])('%s', (_, kinds, expected) => {
    expect(cached(kinds)).toEqual(expected)
  })

  it('goes on with the next one early when both exceed the limits, and is dropped when one does', () => {
    expect(cached('9.....9', { units: 6 })).toEqual([6])
    expect(cached('9......', { bytes: 600 })).toEqual([])
    expect(cached('K......', { units: 6 })).toEqual([])
  })
})
