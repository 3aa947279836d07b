import { expect, it, onTestFinished, vi } from 'vitest'
import { createInStep } from '../../../../../../handlers/dashboard/page/sound/in-step.ts'
import { fakeTimersInEachTest } from '../../../../../helpers/fake-timers.ts'

fakeTimersInEachTest()

const setUp = (heardAfterMs: (lateMs: number) => number | undefined) => {
  const shown: { readonly ms: number; readonly atMs: number }[] = []
  const beganMs = performance.now()
  const sound = { heardAfterMs: () => heardAfterMs(beganMs - 1000) }
  const inStep = createInStep(sound, ({ timestamp }) => shown.push({ ms: timestamp / 1000, atMs: Math.round(performance.now() - beganMs) }))
  onTestFinished(() => inStep.close())
  const come = (ms: number) => inStep.show({ type: 'delta', timestamp: ms * 1000, data: new Uint8Array() })
  return { shown, come }
}

it('shows each picture at once while no sound is heard', () => {
  const { shown, come } = setUp(() => undefined)
  come(1000)
  expect(shown).toEqual([{ ms: 1000, atMs: 0 }])
})

it('shows each picture when its sound is heard, less what it takes to draw it, in the order in which they came', async () => {
  const { shown, come } = setUp((lateMs) => lateMs + 80)
  // The last two are shown in the other order.
  for (const ms of [1000, 1040, 1120, 1080]) {
    come(ms)
    await vi.advanceTimersByTimeAsync(40)
  }
  await vi.advanceTimersByTimeAsync(200)
  expect(shown.map(({ ms }) => ms)).toEqual([1000, 1040, 1120, 1080])
  expect(shown.slice(0, 2)).toEqual([
    { ms: 1000, atMs: 70 },
    { ms: 1040, atMs: 110 },
  ])
})

it('holds back no more than a few seconds of pictures, and none for longer than half a second', async () => {
  const { shown, come } = setUp((lateMs) => lateMs + 60_000)
  for (let picture = 0; picture < 200; picture += 1) come(1000 + picture)
  await vi.advanceTimersByTimeAsync(0)
  expect(shown.length).toBeGreaterThanOrEqual(72)
  await vi.advanceTimersByTimeAsync(500)
  expect(shown.length).toBe(200)
})
