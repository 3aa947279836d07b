import { describe, expect, it } from 'vitest'
import { AccessUnit } from '../../../../engine/rtp/access-unit.ts'
import { GopCache } from '../../../../engine/rtp/gop-cache.ts'
import { UnitMemory } from '../../../../engine/rtp/unit-memory.ts'

/** `K`: a key frame; a digit: one whose pictures are whole after so many more; anything else: another picture. */
const unitsOf = (kinds: string): readonly AccessUnit[] =>
  [...kinds].map((kind, index) => {
    const header = { payload: 96, ssrc: 1, sequences: [index], timestamp: index * 3000 }
    const key = /[K0-9]/.test(kind)
    const recoveryFrames = kind === 'K' ? 0 : Number(kind)
    return AccessUnit.of([Buffer.alloc(100)], header, { index, key, mediaMs: index, arrivedMs: index, ...(key && { recoveryFrames }) })
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

  it.each([
    ['of whole key frames', 'K.......'],
    ['that are refreshed gradually', '3.......'],
  ])('that was handed out stays as it is while others %s follow', (_, kinds) => {
    const cache = new GopCache()
    const handedOut: { readonly unit: AccessUnit; readonly bytes: Buffer }[] = []
    for (const unit of unitsOf(kinds.repeat(20))) {
      cache.add(unit)
      const given = unit.index % 5 === 0 ? (cache.gop?.units ?? []) : []
      handedOut.push(...given.map((copy) => ({ unit: copy, bytes: Buffer.from(copy.framed(0)) })))
    }
    expect(handedOut.length).toBeGreaterThan(50)
    for (const { unit, bytes } of handedOut) expect(unit.framed(0).equals(bytes)).toBe(true)
    expect(new Set(handedOut.map(({ unit }) => unit.firstSequence)).size).toBeGreaterThan(30)
  })

  it('is kept in memory that is used again unless it was handed out', () => {
    const memory = new UnitMemory()
    const [first, second, third] = unitsOf('K..') as [AccessUnit, AccessUnit, AccessUnit]
    const kept = memory.keep(first)
    expect(kept.identity).toBe(first.identity)
    expect(kept.framed(0).equals(first.framed(0))).toBe(true)
    memory.clear()
    expect(memory.keep(second).framed(0).buffer).toBe(kept.framed(0).buffer)
    memory.share()
    memory.clear()
    expect(memory.keep(third).framed(0).buffer).not.toBe(kept.framed(0).buffer)
  })

  it.each([100, 3000, 60_000])('has little more memory than units of %d bytes need', (bytes) => {
    const memory = new UnitMemory()
    const header = { payload: 96, ssrc: 1, sequences: [1], timestamp: 0 }
    const unit = AccessUnit.of([Buffer.alloc(bytes)], header, { index: 0, key: true, mediaMs: 0, arrivedMs: 0 })
    for (let round = 0; round < 3; round += 1) {
      memory.clear()
      const buffers = new Set(Array.from({ length: 50 }, () => memory.keep(unit).framed(0).buffer))
      const total = [...buffers].reduce((sum, { byteLength }) => sum + byteLength, 0)
      expect(total).toBeLessThan(2 * 50 * unit.framedBytes + 300_000)
    }
  })
})
