import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { killAll, runToEnd, startChild } from '../../../engine/gst/child.ts'
import { confineChildren } from '../../../engine/sandbox/confinement.ts'
import { killLeftovers } from '../../../engine/sandbox/leftovers.ts'
import { asleep, KILLS, killStarter, marked, markedSleep } from '../../helpers/process/ended-starts.ts'
import { rounds } from '../../helpers/random.ts'

const folder = mkdtempSync(join(tmpdir(), 'orphans-test-'))

beforeAll(async () => {
  expect(await confineChildren('required', folder, runToEnd)).toMatchObject({ state: 'on' })
})

afterAll(async () => {
  await confineChildren('off', folder, runToEnd)
  rmSync(folder, { recursive: true })
})

/** A start of a sandbox takes some 10 ms. */
const MOMENTS_MS = Array.from({ length: rounds(40) }, (_, index) => (index / 2) % 20)

it.each(Object.entries(KILLS))('a program that is killed during its start leaves nothing behind: %s', async (_, kill) => {
  const argument = markedSleep()
  const ended: boolean[] = []
  for (const moment of MOMENTS_MS) ended.push(await kill(argument, moment))
  expect(ended).toEqual(MOMENTS_MS.map(() => true))
  expect(marked(argument)).toEqual([])
})

it('what a killed process leaves is killed by the next one', async () => {
  const argument = markedSleep()
  for (let start = 0; start < rounds(6); start += 1) await killStarter(folder, argument, (start * 4) % 22)
  await killLeftovers()
  expect(marked(argument)).toEqual([])
})

it('programs of a process that runs are spared, inside of a sandbox and outside', async () => {
  const argument = markedSleep()
  const children = [{}, 'host' as const].map((reach) => startChild('sleep', [argument], { mediaPipes: 0, reach }))
  // A process that is about to become another program has no name for a moment.
  await expect.poll(() => asleep(argument).length).toBe(children.length)
  await killLeftovers()
  expect(marked(argument)).toHaveLength(3)
  await killAll()
  expect(await Promise.all(children.map(({ ended }) => ended))).toEqual(
    children.map(() => ({ exitCode: null, signal: 'SIGKILL', missing: false })),
  )
  expect(marked(argument)).toEqual([])
})
