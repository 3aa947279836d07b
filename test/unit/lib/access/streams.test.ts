import { expect, it, vi } from 'vitest'
import type { Admission } from '../../../../lib/access/access.ts'
import { createClientLimits } from '../../../../lib/access/client-limits.ts'
import { createStreams } from '../../../../lib/access/streams.ts'
import { fakeTimersInEachTest } from '../../../helpers/fake-timers.ts'
import { silentLog } from '../../../helpers/rtsp/media.ts'

fakeTimersInEachTest()

const SESSION: Admission = { by: 'session', tokenHash: 'a' }

/** `find` answers for the sessions of the database. */
const setUp = (find: () => Promise<{ readonly expires_at: number } | undefined>) => {
  const seen = { asked: 0, ended: 0, warnings: 0 }
  const sessions = {
    find: () => {
      seen.asked += 1
      return find()
    },
  }
  const streams = createStreams({
    sessions: sessions as never,
    credentials: { find } as never,
    apiKey: 'the key of a test',
    clock: { now: () => Date.now() },
    limits: createClientLimits(),
    log: { ...silentLog, warn: () => void seen.warnings++ },
  })
  const open = (admission: Admission) =>
    streams.open({ admission, clientAddress: undefined }, () => {
      seen.ended += 1
    })
  return { seen, open }
}

it.each([
  ['a session ends', SESSION, 2],
  ['the API key goes on', { by: 'api_key' }, 1],
] as const)('a stream of %s when the database has not answered for five minutes', async (_, admission, ended) => {
  const { seen, open } = setUp(() => Promise.reject(new Error('away')))
  open(SESSION)
  open(admission)
  await vi.advanceTimersByTimeAsync(299_000)
  expect(seen).toMatchObject({ ended: 0, warnings: 1 })
  await vi.advanceTimersByTimeAsync(2000)
  expect(seen.ended).toBe(ended)
})

it('the database is asked one question at a time, also when it takes long', async () => {
  const { seen, open } = setUp(() => new Promise(() => {}))
  open(SESSION)
  await vi.advanceTimersByTimeAsync(10_000)
  expect(seen.asked).toBe(1)
})

it('streams of one session are one question, and end with it', async () => {
  const { seen, open } = setUp(async () => undefined)
  open(SESSION)
  open(SESSION)
  await vi.advanceTimersByTimeAsync(500)
  expect(seen).toEqual({ asked: 1, ended: 2, warnings: 0 })
  await vi.advanceTimersByTimeAsync(5000)
  expect(seen.ended).toBe(2)
})
