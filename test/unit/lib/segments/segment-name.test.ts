import { expect, it } from 'vitest'
import { isDay, segmentPlace, segmentTime } from '../../../../lib/segments/segment-name.ts'

const AT = Date.parse('2026-11-20T09:30:00.007Z')

it('names a segment after its first frame, in the folder of its day', () => {
  expect(segmentPlace(AT)).toEqual({ day: '2026-11-20', name: '20261120T093000.007Z.ts' })
  expect(segmentTime('20261120T093000.007Z.ts')).toBe(AT)
})

it.each([
  '',
  '.',
  '../20261120T093000.ts',
  '20261120T093000.007Z.tS',
  '20261120T093000.007Z.ts.part',
  '20261120 093000.007Z.ts',
  '20261320T093000.007Z.ts',
  '20260230T093000.007Z.ts',
  '20261120T093000.0x7Z.ts',
])('knows that %j is no segment', (name) => expect(segmentTime(name)).toBeUndefined())

it('knows the folders of days', () => {
  expect(['2026-11-20', '2026-02-30', '2026-11-2', '..', '2026-11-20/', 'lost+found'].map(isDay)).toEqual([
    true,
    false,
    false,
    false,
    false,
    false,
  ])
})
