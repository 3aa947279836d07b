import { expect, it, onTestFinished } from 'vitest'
import { runTimersFaster } from '../../helpers/nats/fast-time.ts'
import { runHistories } from '../../helpers/nats/run-histories.ts'
import { rounds } from '../../helpers/random.ts'

/** `npm run test:long histories` has thousands. */
it('hosts come to be as their documents say after histories of documents, partitions, restarts and local changes', async () => {
  onTestFinished(runTimersFaster(20))
  const seed = Date.now() % 1e9
  const report = await runHistories({ histories: rounds(40), seed, hosts: 8, killEvery: 15 })
  expect({ seed, ...report }).toMatchObject({ histories: rounds(40), faults: [] })
})
