import { expect, it } from 'vitest'
import { runRandomOperations } from '../../helpers/api/random-operations.ts'
import { startService } from '../../helpers/process/service.ts'
import { rounds } from '../../helpers/random.ts'

/** Seed 8 once left a pipeline stored as playing that had been stopped. */
const SEEDS = [8, ...Array.from({ length: rounds(1) - 1 }, (_, at) => at + 100)]

it.each(SEEDS)(
  'random operations of several clients leave pipelines, processes, ports and database consistent, and nothing behind (seed %i)',
  async (seed) => {
    const first = 11_000 + (seed % 10) * 50
    const service = await startService({ env: { SVC_OUTPUT_PORTS: `${first}-${first + 49}` } })
    const outputs = { first, last: first + 49 }
    const { faults, looks } = await runRandomOperations(service, { seed, operations: 100, clients: 10, outputs })
    expect(faults).toEqual([])
    expect(looks).toBeGreaterThan(0)
    expect(await service.stop()).toBe(0)
  },
  // A disagreement is waited for twice.
  90_000,
)
