import { expect, it } from 'vitest'
import { newestOnly } from '../../../../../../handlers/dashboard/page/timeline/newest-only.ts'
import { until } from '../../../../../helpers/until.ts'

it('loads one moment at a time, and of those that are asked for meanwhile only the newest', async () => {
  const asked: number[] = []
  const answers: (() => void)[] = []
  const shown: (readonly [number | undefined, number])[] = []
  const loader = newestOnly(
    (at) =>
      new Promise<number>((resolve, reject) => {
        asked.push(at)
        answers.push(() => (at === 4 ? reject(new Error('nothing is recorded')) : resolve(10 * at)))
      }),
    (found, at) => shown.push([found, at]),
  )
  for (const at of [1, 2, 3, 4]) loader.want(at)
  expect(asked).toEqual([1])
  answers[0]?.()
  await until(
    () => asked.length,
    (count) => count === 2,
  )
  answers[1]?.()
  await until(
    () => shown.length,
    (count) => count === 2,
  )
  expect([asked, shown]).toEqual([
    [1, 4],
    [
      [10, 1],
      [undefined, 4],
    ],
  ])
  loader.want(5)
  loader.close()
  answers[2]?.()
  await Promise.resolve()
  expect(shown).toHaveLength(2)
})
