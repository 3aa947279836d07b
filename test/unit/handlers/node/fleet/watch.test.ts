import { describe, expect, it, onTestFinished, vi } from 'vitest'
import type { Linked } from '../../../../../handlers/node/fleet/linked.ts'
import type { Document } from '../../../../../handlers/node/fleet/reconcile.ts'
import { watchDocument } from '../../../../../handlers/node/fleet/watch.ts'
import { fakeTimersInEachTest } from '../../../../helpers/fake-timers.ts'

const SILENT = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }
const entryOf = (revision: number) => ({ revision, operation: 'PUT', string: () => `text ${revision}` })

/** A store that shows what the test says, and whose messages the test sends. */
const watch = () => {
  const seen: number[] = []
  const store = { revision: 1, reads: 0 }
  let tell = (): void => {}
  const ending = new AbortController()
  onTestFinished(() => ending.abort())
  const connection = {
    subscribe: (_subject: string, { callback }: { callback: (error: null) => void }) => {
      tell = () => callback(null)
    },
    flush: async () => {},
  }
  const desired = {
    get: async () => {
      store.reads += 1
      return entryOf(store.revision)
    },
  }
  const linked = { connection, stores: { desired }, create: async () => {}, signal: ending.signal } as unknown as Linked
  const onDocument = ({ revision }: Document): void => void seen.push(revision)
  void watchDocument(linked, { host: 'gate', log: SILENT, onDocument, onNone: () => {} })
  return { seen, store, tell: () => tell() }
}

describe('the document of a host', () => {
  fakeTimersInEachTest()

  it('is read again soon after the link, since the server that answered may have been behind', async () => {
    const { seen, store } = watch()
    await vi.advanceTimersByTimeAsync(10)
    store.revision = 2
    await vi.advanceTimersByTimeAsync(1000)
    expect(seen).toEqual([1, 2])
    store.revision = 3
    await vi.advanceTimersByTimeAsync(4000)
    expect(seen).toEqual([1, 2, 3])
  })

  it('is read until the change of a message is shown, also when a server is behind for long', async () => {
    const { seen, store, tell } = watch()
    await vi.advanceTimersByTimeAsync(10_000)
    tell()
    await vi.advanceTimersByTimeAsync(3500)
    store.revision = 2
    await vi.advanceTimersByTimeAsync(1000)
    expect(seen).toEqual([1, 2])
  })

  it('is read twice a minute while nothing happens', async () => {
    const { store } = watch()
    await vi.advanceTimersByTimeAsync(10_000)
    const { reads } = store
    await vi.advanceTimersByTimeAsync(120_000)
    expect(store.reads - reads).toBe(4)
  })
})
