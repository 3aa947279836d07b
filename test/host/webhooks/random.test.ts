import { expect, it } from 'vitest'
import { temporaryDataDir } from '../../helpers/process/temporary-data-dir.ts'
import { rounds } from '../../helpers/random.ts'
import { runWebhookStorm } from '../../helpers/service/webhook-storm.ts'

it('every event arrives at every receiver, in order per pipeline and signed, over a kill of the API', async () => {
  const seed = Date.now() % 1e9
  const options = { dataDir: temporaryDataDir(), events: rounds(120), kills: rounds(1), pipelines: 5, seed, hangs: false, awayMs: 500 }
  const { receivers, dropped } = await runWebhookStorm(options)
  expect(dropped).toEqual([])
  for (const { name, faults, taken } of receivers)
    expect({ name, faults, seed, some: taken > 100 }).toEqual({ name, faults: [], seed, some: true })
})
