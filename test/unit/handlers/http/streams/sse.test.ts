import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { eventStream } from '../../../../../handlers/http/streams/sse.ts'
import { createEventFeed } from '../../../../../lib/events/feed.ts'
import { followSse } from '../../../../helpers/api/sse-client.ts'

type EventStreamOptions = Parameters<typeof eventStream>[0]

const message = (data: unknown, event = 'pipeline_status') => ({ event, pipelineId: 'a', data })

const setUp = (more: Partial<EventStreamOptions> = {}) => {
  const feed = createEventFeed('p')
  const leaving = new AbortController()
  const open = (again: Partial<EventStreamOptions> = {}) =>
    eventStream({ feed, filter: () => true, lastEventId: null, signal: leaving.signal, ...more, ...again })
  return { feed, leaving, open }
}

beforeEach(() => void vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] }))
afterEach(() => void vi.useRealTimers())

describe('a stream of events', () => {
  it('sends the retry time once, then every event that passes the filter with its id, and is neither cached nor buffered', async () => {
    const { feed, open, leaving } = setUp({ filter: ({ event }) => event !== 'camera_added' })
    const response = open()
    const headers = { 'content-type': 'text/event-stream', 'cache-control': 'no-store', 'x-accel-buffering': 'no' }
    expect(Object.fromEntries(response.headers)).toEqual(headers)
    const client = followSse(response)
    feed.publish(message({ text: 'line 1\nline 2' }))
    feed.publish(message('no', 'camera_added'))
    feed.publish(message(3, 'pipeline_error'))
    leaving.abort()
    expect(await client.rest()).toEqual([
      { retry: '2000' },
      { id: 'p-1', event: 'pipeline_status', data: { text: 'line 1\nline 2' } },
      { id: 'p-3', event: 'pipeline_error', data: 3 },
    ])
  })

  it('replays missed events, then sends the status, then new events in their order', async () => {
    const { feed, open, leaving } = setUp()
    for (const data of ['seen', 'missed']) feed.publish(message(data))
    const asked = Promise.withResolvers<void>()
    const status = () => asked.promise.then(() => () => [feed.unpublished(message('now'))])
    const client = followSse(open({ lastEventId: 'p-1', status }))
    feed.publish(message('early'))
    asked.resolve()
    expect(await client.nextOf('pipeline_status')).toMatchObject({ data: 'missed' })
    expect(await client.next()).toMatchObject({ id: 'p-3', data: 'early' })
    expect(await client.next()).toMatchObject({ id: 'p-3', data: 'now' })
    feed.publish(message('later'))
    expect(await client.next()).toMatchObject({ id: 'p-4', data: 'later' })
    leaving.abort()
  })

  it('sends a comment every 30 seconds', async () => {
    const { open, leaving } = setUp()
    const client = followSse(open())
    vi.advanceTimersByTime(60_000)
    leaving.abort()
    expect(await client.rest()).toEqual([{ retry: '2000' }, { comment: 'keepalive' }, { comment: 'keepalive' }])
  })

  it('reads a failed status again at the keepalive, and sends events meanwhile', async () => {
    let reachable = false
    const { feed, open, leaving } = setUp()
    const status = vi.fn(async () => {
      if (!reachable) throw new Error('away')
      return () => [feed.unpublished(message('now'))]
    })
    const client = followSse(open({ status }))
    feed.publish(message('meanwhile'))
    expect(await client.nextOf('pipeline_status')).toMatchObject({ data: 'meanwhile' })
    reachable = true
    vi.advanceTimersByTime(30_000)
    expect(await client.nextOf('pipeline_status')).toMatchObject({ data: 'now' })
    vi.advanceTimersByTime(30_000)
    expect(status).toHaveBeenCalledTimes(2)
    leaving.abort()
  })

  it('ends after the last event, also when that was replayed, and unsubscribes', async () => {
    const { feed, open } = setUp({ isLast: ({ event }) => event === 'pipeline_not_found' })
    const client = followSse(open())
    for (const event of ['pipeline_status', 'pipeline_not_found', 'pipeline_status']) feed.publish(message(event, event))
    expect((await client.rest()).map(({ event }) => event)).toEqual([undefined, 'pipeline_status', 'pipeline_not_found'])
    const late = followSse(open({ lastEventId: 'p-0', status: async () => () => [feed.unpublished(message('never'))] }))
    expect((await late.rest()).map(({ event }) => event)).toEqual([undefined, 'pipeline_status', 'pipeline_not_found'])
    expect([feed.subscriberCount(), vi.getTimerCount()]).toEqual([0, 0])
  })

  it('ends when the service stops, and at once for later clients', async () => {
    const { feed, open } = setUp()
    const client = followSse(open())
    feed.close()
    expect(await client.rest()).toEqual([{ retry: '2000' }])
    expect(await followSse(open()).rest()).toEqual([{ retry: '2000' }])
    expect(vi.getTimerCount()).toBe(0)
  })
})

describe('a client that disconnects', () => {
  it.each([
    ['is cancelled', { cancels: true, aborts: false }],
    ['aborts its request', { cancels: false, aborts: true }],
    ['aborts its request after it was cancelled', { cancels: true, aborts: true }],
  ])('leaves no timer and no listener when it %s', async (_way, { cancels, aborts }) => {
    const { feed, open, leaving } = setUp()
    const remove = vi.spyOn(leaving.signal, 'removeEventListener')
    const client = followSse(open({ status: () => new Promise(() => {}) }))
    await client.next()
    expect([feed.subscriberCount(), vi.getTimerCount()]).toEqual([1, 1])
    if (cancels) await client.leave()
    if (aborts) leaving.abort()
    expect([feed.subscriberCount(), vi.getTimerCount()]).toEqual([0, 0])
    expect(remove).toHaveBeenCalled()
    feed.publish(message('nobody'))
  })

  it('before its answer is never subscribed', async () => {
    const { feed, open, leaving } = setUp()
    leaving.abort()
    await followSse(open()).rest()
    expect([feed.subscriberCount(), vi.getTimerCount()]).toEqual([0, 0])
  })
})

describe('a client that does not read', () => {
  it('is disconnected with its unread events, and the others continue', async () => {
    const { feed, open } = setUp()
    const slow = open()
    const quick = followSse(open())
    await quick.next()
    const big = 'x'.repeat(100_000)
    for (let count = 1; count <= 50; count += 1) {
      feed.publish(message(big))
      expect((await quick.next())?.id).toBe(`p-${count}`)
    }
    expect(feed.subscriberCount()).toBe(1)
    expect(vi.getTimerCount()).toBe(1)
    await expect(slow.text()).rejects.toThrow('does not read')
    await quick.leave()
  })

  it('can catch up with more than the backlog limit', async () => {
    const { feed, open, leaving } = setUp()
    for (let count = 0; count < 30; count += 1) feed.publish(message('x'.repeat(100_000)))
    const client = followSse(open({ lastEventId: 'p-0', status: async () => () => [feed.unpublished(message('now'))] }))
    for (let count = 1; count <= 30; count += 1) expect((await client.nextOf('pipeline_status')).id).toBe(`p-${count}`)
    expect(feed.subscriberCount()).toBe(1)
    leaving.abort()
  })

  it('is disconnected when too many events wait for its status', async () => {
    const { feed, open } = setUp({ status: () => new Promise(() => {}) })
    const response = open()
    for (let count = 0; count <= 1000; count += 1) feed.publish(message(count))
    expect(feed.subscriberCount()).toBe(0)
    await expect(response.text()).rejects.toThrow('does not read')
  })
})
