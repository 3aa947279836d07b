import { describe, expect, it } from 'vitest'
import { runRandomOperations } from '../helpers/api/random-operations.ts'
import { startService } from '../helpers/process/service.ts'

describe('random operations of several clients', () => {
  // Seed 8 once left a pipeline stored as playing that had been stopped.
  it.each([1, 8])(
    'leave pipelines, processes, ports and database consistent, and nothing behind (seed %i)',
    async (seed) => {
      const outputs = { first: 11_000 + seed * 50, last: 11_049 + seed * 50 }
      const service = await startService({ env: { SVC_OUTPUT_PORTS: `${outputs.first}-${outputs.last}` } })
      const { faults, looks } = await runRandomOperations(service, { seed, operations: 100, clients: 10, outputs })
      expect(faults).toEqual([])
      expect(looks).toBeGreaterThan(0)
      await service.stop()
      // What disagrees is waited for twice.
    },
    90_000,
  )
})
