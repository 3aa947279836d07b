import { describe, expect, it } from 'vitest'
import { FileIndex, type IndexedFile } from '../../../../../engine/screenshots/files/file-index.ts'
import { formatFileName, parseFileName } from '../../../../../engine/screenshots/files/file-name.ts'
import { createRandom } from '../../../../helpers/random.ts'

const BASE = Date.parse('2026-11-20T10:00:00.000Z')
const file = (pipelineId: string, createdAt: number, bytes = 10): IndexedFile => ({
  name: formatFileName({ pipelineId, createdAt }),
  pipelineId,
  createdAt,
  bytes,
})
const times = (files: readonly IndexedFile[]): number[] => files.map(({ createdAt }) => createdAt - BASE)

describe('the name of a screenshot file', () => {
  it('is the id and the time, to the millisecond and in UTC', () => {
    expect(formatFileName({ pipelineId: 'cam-1', createdAt: BASE + 7 })).toBe('cam-1_20261120T100000007Z.jpg')
  })

  it.each(['cam-1', '_', '-', 'a_20261120T100000007Z', 'x'.repeat(64)])('round-trips the id %s', (pipelineId) => {
    expect(parseFileName(formatFileName({ pipelineId, createdAt: BASE }))).toEqual({ pipelineId, createdAt: BASE })
  })

  it.each([
    '',
    'cam.jpg',
    'cam_20261120T100000007Z.jpeg',
    '../cam_20261120T100000007Z.jpg',
    'a/b_20261120T100000007Z.jpg',
    'cam_20261120T100000007Z.jpg.part',
    'cam_20261320T100000007Z.jpg',
    'cam_20260230T100000007Z.jpg',
    'cam_20261120T240000000Z.jpg',
    `${'x'.repeat(65)}_20261120T100000007Z.jpg`,
    'cam_20261120T100000007Z.jpg\n',
    'cam\0_20261120T100000007Z.jpg',
  ])('is not valid as %j', (name) => expect(parseFileName(name)).toBeUndefined())
})

describe('the index of screenshot files', () => {
  it('lists the newest first, of all and of one pipeline, in pages without repeated or missing files', () => {
    const index = new FileIndex()
    index.fill([5, 1, 4, 2, 3].map((at) => file(at % 2 === 0 ? 'even' : 'odd', BASE + at)))
    expect(times(index.list({ limit: 10 }))).toEqual([5, 4, 3, 2, 1])
    expect(times(index.list({ limit: 10, pipelineId: 'odd' }))).toEqual([5, 3, 1])
    expect(times(index.list({ limit: 2 }))).toEqual([5, 4])
    expect(times(index.list({ limit: 2, before: BASE + 4 }))).toEqual([3, 2])
    expect(times(index.list({ limit: 2, before: BASE + 2 }))).toEqual([1])
    expect(index.list({ limit: 2, pipelineId: 'unknown' })).toEqual([])
  })

  it('matches a plain list after a thousand random changes', () => {
    const random = createRandom(20261120).next
    const index = new FileIndex()
    let plain: IndexedFile[] = []
    for (let step = 0; step < 1000; step += 1) {
      const one = file(`p${Math.floor(random() * 3)}`, BASE + Math.floor(random() * 300), Math.floor(random() * 100))
      if (random() < 0.6) {
        index.add(one)
        plain = [...plain.filter(({ name }) => name !== one.name), one]
      } else if (random() < 0.9) {
        expect(index.remove(one.name)).toBe(plain.some(({ name }) => name === one.name))
        plain = plain.filter(({ name }) => name !== one.name)
      } else {
        const gone = new Set(index.list({ pipelineId: one.pipelineId, limit: 20 }))
        index.removeMany(one.pipelineId, gone)
        plain = plain.filter((known) => !gone.has(known))
      }
      expect(index.count).toBe(plain.length)
      expect(index.bytes).toBe(plain.reduce((sum, { bytes }) => sum + bytes, 0))
      const expected = plain.map(({ createdAt }) => createdAt - BASE).sort((a, b) => b - a)
      expect(times(index.list({ limit: 1000 }))).toEqual(expected)
      expect(index.oldest?.createdAt).toBe(expected.length === 0 ? undefined : BASE + (expected.at(-1) ?? 0))
    }
  })

  it('pages through 100,000 files, each once', () => {
    const index = new FileIndex()
    index.fill(Array.from({ length: 100_000 }, (_, at) => file(`cam-${at % 7}`, BASE + at)))
    const seen: number[] = []
    for (let page = index.list({ limit: 1000 }); page.length > 0; page = index.list({ limit: 1000, before: page.at(-1)?.createdAt })) {
      seen.push(...times(page))
    }
    expect(seen).toEqual(Array.from({ length: 100_000 }, (_, at) => 99_999 - at))
  })
})
