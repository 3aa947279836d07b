import { describe, expect, it } from 'vitest'
import { createEventFeed } from '../../../../lib/events/feed.ts'

describe('the feed', () => {
  const publish = (count: number, more: { frequent?: boolean } = {}) => {
    const feed = createEventFeed('p')
    for (let at = 0; at < count; at += 1) feed.publish({ event: 'e', pipelineId: 'a', data: at, ...more })
    return feed
  }
  const all = () => true

  it('replays the events after an id', () => {
    const feed = publish(5)
    expect(feed.missedSince('p-3', all).map(({ id }) => id)).toEqual(['p-4', 'p-5'])
    expect(feed.missedSince('p-0', all)).toHaveLength(5)
    expect(feed.missedSince('p-5', all)).toEqual([])
  })

  it('replays nothing for a foreign id', () => {
    const feed = publish(5)
    for (const id of [null, '', 'q-3', 'p-', 'p-x', 'p-6', 'p--1', 'p-1e3', '3', `p-${'9'.repeat(400)}`]) {
      expect([id, feed.missedSince(id, all), feed.resumes(id)]).toEqual([id, [], false])
    }
  })

  it('keeps a bounded number and reports when it cannot resume', () => {
    const feed = publish(3000)
    expect(feed.missedSince('p-10', all)).toHaveLength(1000)
    expect(feed.resumes('p-1999')).toBe(false)
    expect(feed.resumes('p-2000')).toBe(true)
  })

  it('does not let frequent events push out the others, and replays both in order', () => {
    const feed = publish(10)
    for (let count = 0; count < 5000; count += 1) feed.publish({ event: 'klv', pipelineId: 'a', data: count, frequent: true })
    feed.publish({ event: 'e', pipelineId: 'a', data: 'last' })
    expect(feed.resumes('p-0')).toBe(true)
    expect(feed.missedSince('p-0', ({ event }) => event === 'e')).toHaveLength(11)
    expect(feed.missedSince('p-5000', all).map(({ id }) => id)).toEqual([...Array(11).keys()].map((at) => `p-${5001 + at}`))
  })

  it('ends its subscribers, present and future', () => {
    const feed = publish(0)
    const ended: string[] = []
    feed.subscribe({ onEvent: () => {}, onEnd: () => void ended.push('first') })
    feed.close()
    feed.subscribe({ onEvent: () => {}, onEnd: () => void ended.push('late') })
    expect([ended, feed.subscriberCount()]).toEqual([['first', 'late'], 0])
  })
})
