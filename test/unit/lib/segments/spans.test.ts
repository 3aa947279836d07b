import { expect, it } from 'vitest'
import { withSegments } from '../../../../lib/segments/spans.ts'

const ALL = { from: 0, to: 1_000_000, before: Number.MAX_SAFE_INTEGER, limit: 10 }
const span = (from: number, to: number, id = 'gate') => ({ pipeline_id: id, from, to, bytes: to - from, tracks: ['h264'] })
const segment = (startedAt: number, endedAt: number, { id = 'gate', of = startedAt } = {}) => ({
  ...{ pipeline_id: id, started_at: startedAt, ended_at: endedAt, bytes: endedAt - startedAt, tracks: ['h264'] },
  ...{ format: '', span: of, run: 'one', first_dts: 0, counts: undefined },
})

it.each([
  ['goes on where the last complete one ended', [span(0, 40)], [segment(40, 50, { of: 0 })], ALL, [span(0, 50)]],
  [
    'and the next one go on one after the other',
    [span(0, 40)],
    [segment(40, 50, { of: 0 }), segment(50, 55, { of: 0 })],
    ALL,
    [span(0, 55)],
  ],
  ['begins a span', [span(0, 40)], [segment(60, 70)], ALL, [span(60, 70), span(0, 40)]],
  ['begins a span inside of one, where the clock was set back', [span(0, 100)], [segment(60, 70)], ALL, [span(60, 70), span(0, 100)]],
  ['is listed once when it is complete meanwhile', [span(60, 80)], [segment(60, 70)], ALL, [span(60, 80)]],
  ['is not listed outside of the range', [], [segment(60, 70)], { ...ALL, to: 60 }, []],
  ['is cut to the range', [], [segment(60, 70)], { ...ALL, from: 65, to: 68 }, [{ ...span(65, 68), bytes: 10 }]],
  ['is not on the next page', [span(0, 40)], [segment(60, 70)], { ...ALL, before: 60 }, [span(0, 40)]],
  ['takes a place of a page', [span(40, 50), span(0, 40)], [segment(60, 70)], { ...ALL, limit: 2 }, [span(60, 70), span(40, 50)]],
  ['is no part of another pipeline', [span(0, 40)], [segment(40, 50, { id: 'yard', of: 0 })], ALL, [span(40, 50, 'yard'), span(0, 40)]],
])('a segment that is being written %s', (_, spans, segments, range, listed) => {
  expect(withSegments(spans, segments, range)).toEqual(listed)
})
