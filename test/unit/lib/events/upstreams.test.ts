import { describe, expect, it, vi } from 'vitest'
import { createKlvUpstreams } from '../../../../lib/events/upstreams.ts'
import { fakeTimersInEachTest } from '../../../helpers/fake-timers.ts'
import { klvPacket } from '../../../helpers/fakes/klv.ts'
import { silentLog } from '../../../helpers/rtsp/media.ts'

const LINGER_MS = 10_000

fakeTimersInEachTest()

/** Streams that stay open until they are closed, or end at once. */
const setUp = ({ ends = false } = {}) => {
  const [open, opened, pushed] = [new Set<string>(), [] as string[], [] as string[]]
  const upstreams = createKlvUpstreams({
    klv: {
      async *events(id, signal) {
        opened.push(id)
        open.add(id)
        yield { type: 'heartbeat' }
        yield { type: 'klv', id, packet: klvPacket(id, 1) }
        if (!ends) await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()))
        open.delete(id)
      },
    },
    events: { push: (event) => void (event.type === 'klv' && pushed.push(event.packet.pipeline_id)) },
    log: silentLog,
  })
  const pass = (ms = 0) => vi.advanceTimersByTimeAsync(ms)
  return { upstreams, open, opened, pushed, pass }
}

describe('the KLV upstreams', () => {
  it('open one stream per pipeline, however many subscribe', async () => {
    const { upstreams, opened, pushed, pass } = setUp()
    for (const id of ['a', 'b', 'a', 'a']) upstreams.subscribe(id)
    await pass()
    expect([opened, pushed]).toEqual([
      ['a', 'b'],
      ['a', 'b'],
    ])
  })

  it('close a stream a while after its last subscriber left, however often each leaves', async () => {
    const { upstreams, open, pass } = setUp()
    const [first, second] = [upstreams.subscribe('a'), upstreams.subscribe('a')]
    first()
    first()
    await pass(2 * LINGER_MS)
    second()
    await pass(LINGER_MS - 1)
    expect(open.size).toBe(1)
    await pass(1)
    expect([open.size, vi.getTimerCount()]).toEqual([0, 0])
  })

  it('keep the stream for a subscriber that comes back', async () => {
    const { upstreams, open, opened, pass } = setUp()
    upstreams.subscribe('a')()
    await pass(LINGER_MS - 1)
    upstreams.subscribe('a')
    await pass(2 * LINGER_MS)
    expect([open.size, opened]).toEqual([1, ['a']])
  })

  it('open a stream that the engine has ended at once for the next subscriber', async () => {
    const { upstreams, opened, pass } = setUp({ ends: true })
    upstreams.subscribe('a')()
    await pass(1)
    expect(opened).toHaveLength(1)
    upstreams.subscribe('a')
    await pass(1)
    expect(opened).toHaveLength(2)
    upstreams.close()
  })

  it('close every stream at once when they are closed, and open none afterwards', async () => {
    const { upstreams, open, opened, pass } = setUp()
    upstreams.subscribe('a')
    upstreams.subscribe('b')()
    await pass()
    upstreams.close()
    upstreams.subscribe('c')()
    await pass()
    expect([open.size, opened, vi.getTimerCount()]).toEqual([0, ['a', 'b'], 0])
  })
})
