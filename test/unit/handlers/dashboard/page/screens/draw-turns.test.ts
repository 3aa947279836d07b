import { afterEach, expect, it, vi } from 'vitest'

afterEach(() => void vi.unstubAllGlobals())

it('draws what fits into a turn of the display, the longest waiting first, and each picture once', async () => {
  // Another test may have left a turn that never came.
  vi.resetModules()
  const { cancelDraw, drawInTurn } = await import('../../../../../../handlers/dashboard/page/screens/draw-turns.ts')
  let now = 0
  let turn = async (): Promise<void> => {}
  vi.stubGlobal('performance', { now: () => now })
  vi.stubGlobal('requestAnimationFrame', (callback: () => Promise<void>) => {
    turn = callback
    return 1
  })
  const drawn: string[] = []
  const draws = ['a', 'b', 'c', 'd'].map((name) => async () => {
    drawn.push(name)
    now += 4
  })
  for (const draw of [...draws, ...draws]) drawInTurn(draw)
  await turn()
  expect(drawn).toEqual(['a', 'b'])
  cancelDraw(draws[2] ?? turn)
  await turn()
  expect(drawn).toEqual(['a', 'b', 'd'])
})
