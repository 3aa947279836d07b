import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { EngineEvent } from '../../../../lib/engine/messages.ts'
import { createKlvUpstreams } from '../../../../lib/events/upstreams.ts'
import { useFakeTimers } from '../../../helpers/fake-timers.ts'
import { klvPacket } from '../../../helpers/fakes/klv.ts'

const SILENT = { debug() {}, info() {}, warn() {}, error() {} }
const LINGER_MS = 10_000

beforeEach(() => {
  useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

const setUp = () => {
  const open: string[] = []
  const opened: string[] = []
  const pushed: EngineEvent[] = []
  const upstreams = createKlvUpstreams({
    klv: {
      async *events(id, signal) {
        open.push(id)
        opened.push(id)
        yield { type: 'heartbeat' }
        yield { type: 'klv', id, packet: klvPacket(id, 1) }
        await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()))
        open.splice(open.indexOf(id), 1)
      },
    },
    events: { push: (event) => pushed.push(event) },
    log: SILENT,
  })
  return { upstreams, open, opened, pushed }
}

describe('the KLV upstreams', () => {
  it('open one stream per pipeline, however many subscribe', async () => {
    const { upstreams, opened, pushed } = setUp()
    for (const id of ['a', 'b', 'a', 'a']) upstreams.subscribe(id)
    await vi.advanceTimersByTimeAsync(0)
    expect(opened).toEqual(['a', 'b'])
    expect(pushed.flatMap((event) => (event.type === 'klv' ? [event.packet.pipeline_id] : []))).toEqual(['a', 'b'])
  })

  it('close a stream a while after its last subscriber left, however often each leaves', async () => {
    const { upstreams, open } = setUp()
    const [first, second] = [upstreams.subscribe('a'), upstreams.subscribe('a')]
    first()
    first()
    await vi.advanceTimersByTimeAsync(2 * LINGER_MS)
    expect(open).toEqual(['a'])
    second()
    await vi.advanceTimersByTimeAsync(LINGER_MS - 1)
    expect(open).toEqual(['a'])
    await vi.advanceTimersByTimeAsync(1)
    expect([open, vi.getTimerCount()]).toEqual([[], 0])
  })

  it('keep the stream for a subscriber that comes back', async () => {
    const { upstreams, open, opened } = setUp()
    upstreams.subscribe('a')()
    await vi.advanceTimersByTimeAsync(LINGER_MS - 1)
    upstreams.subscribe('a')
    await vi.advanceTimersByTimeAsync(2 * LINGER_MS)
    expect([open, opened]).toEqual([['a'], ['a']])
  })

  it('open a stream that the engine has ended at once for the next subscriber', async () => {
    let opened = 0
    const upstreams = createKlvUpstreams({
      klv: {
        async *events() {
          opened += 1
          yield { type: 'heartbeat' }
        },
      },
      events: { push: () => {} },
      log: SILENT,
    })
    upstreams.subscribe('a')()
    await vi.advanceTimersByTimeAsync(1)
    expect(opened).toBe(1)
    upstreams.subscribe('a')
    await vi.advanceTimersByTimeAsync(1)
    expect(opened).toBe(2)
    upstreams.close()
  })

  it('close every stream at once when they are closed', async () => {
    const { upstreams, open } = setUp()
    upstreams.subscribe('a')
    upstreams.subscribe('b')()
    await vi.advanceTimersByTimeAsync(0)
    upstreams.close()
    await vi.advanceTimersByTimeAsync(0)
    expect([open, vi.getTimerCount()]).toEqual([[], 0])
  })

  it('open none once they are closed, as for a request that comes while the service stops', async () => {
    const { upstreams, opened } = setUp()
    upstreams.close()
    upstreams.subscribe('a')()
    await vi.advanceTimersByTimeAsync(0)
    expect([opened, vi.getTimerCount()]).toEqual([[], 0])
  })
})
