import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { startService } from '../helpers/process/service.ts'

const SECONDS = 5
/** The timeouts of what was asked pass meanwhile. */
const LOOKS = 6

/** How often the event loop of a process was woken so far (proc(5)). */
const wakeups = (pid: number): number =>
  Number(/^voluntary_ctxt_switches:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/task/${pid}/status`, 'utf8'))?.[1])

describe('a service in which nothing plays and of which nobody asks anything', () => {
  it('wakes no process more than twice a second, also with on-demand pipelines', async () => {
    const service = await startService()
    for (const id of ['a', 'b', 'c']) {
      const body = { id, mode: 'simple', on_demand: true, source: { uri: 'test://ball' } }
      expect((await service.request('POST', '/svc/pipeline', body)).status).toBe(201)
    }
    const pids = [service.pid, service.enginePid()]
    let woken = pids.map(() => Number.POSITIVE_INFINITY)
    for (let look = 0; look < LOOKS && Math.max(...woken) > 2 * SECONDS; look += 1) {
      const before = pids.map(wakeups)
      await sleep(SECONDS * 1000)
      woken = pids.map((pid, at) => wakeups(pid) - (before[at] ?? 0))
    }
    expect(Math.max(...woken)).toBeLessThanOrEqual(2 * SECONDS)
    await service.stop()
  })
})
