import { expect, it } from 'vitest'
import { createClientLimits } from '../../../../lib/access/client-limits.ts'

const BOUNDS = { streams: 2, dryRuns: 1, waitingDryRuns: 0 }
const TOO_MANY = expect.objectContaining({ code: 'RATE_LIMITED' })

it('a stream is counted until it is released, once', () => {
  const { openStream } = createClientLimits(BOUNDS)
  const [release] = [openStream('192.0.2.1'), openStream('192.0.2.1')]
  expect(() => openStream('192.0.2.1')).toThrow(TOO_MANY)
  release?.()
  release?.()
  openStream('192.0.2.1')
  expect(() => openStream('192.0.2.1')).toThrow(TOO_MANY)
  openStream('192.0.2.2')
})

it('this host may open four times as many streams, and clients without an address any number', () => {
  const { openStream } = createClientLimits(BOUNDS)
  for (let streams = 0; streams < 8; streams += 1) openStream('::1')
  expect(() => openStream('::1')).toThrow(TOO_MANY)
  for (let streams = 0; streams < 100; streams += 1) openStream(undefined)
})

it('a dry run waits for a slot of its client only', async () => {
  const { dryRun } = createClientLimits(BOUNDS)
  const { promise, resolve } = Promise.withResolvers<string>()
  const first = dryRun('192.0.2.1', () => promise)
  await expect(dryRun('192.0.2.1', async () => 'second')).rejects.toEqual(TOO_MANY)
  expect(await dryRun('192.0.2.2', async () => 'of another')).toBe('of another')
  resolve('first')
  expect([await first, await dryRun('192.0.2.1', async () => 'third')]).toEqual(['first', 'third'])
})
