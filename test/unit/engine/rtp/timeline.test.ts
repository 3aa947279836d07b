import { expect, it } from 'vitest'
import { Timeline } from '../../../../engine/rtp/timeline.ts'

it('begins a run where its first unit arrives, for all streams of the run', () => {
  const timeline = new Timeline(0)
  expect(timeline.anchor(1000, 200, 1500)).toBe(1300)
  expect(timeline.anchor(1000, 900, 9000)).toBe(1300)
})

it('begins a run after the latest media of the one before, which may have been ahead of its arrival, with all its streams', () => {
  const timeline = new Timeline(0)
  timeline.anchor(1000, 0, 1000)
  timeline.advanceTo(5000)
  timeline.advanceTo(4000)
  expect(timeline.anchor(3000, 200, 3500)).toBe(5010)
  timeline.advanceTo(6000)
  expect(timeline.anchor(4000, 900, 4500)).toBe(6010 - 900 + 200)
})

it('forgets with each run how late the media of the one before was', () => {
  const timeline = new Timeline(0)
  timeline.anchor(1000, 0, 1000)
  timeline.skew.observe(80, 1100)
  // Of the same run.
  timeline.anchor(1000, 0, 1200)
  expect(timeline.skew.value).toBe(80)
  timeline.anchor(2000, 0, 2500)
  expect(timeline.skew.value).toBe(0)
})
