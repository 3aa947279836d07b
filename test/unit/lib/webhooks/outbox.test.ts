import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { openQueue } from '../../../../db/webhooks/open-queue.ts'
import type { WebhookQueue } from '../../../../lib/repositories/webhook-queue.ts'
import { Outbox } from '../../../../lib/webhooks/outbox.ts'
import { until } from '../../../helpers/until.ts'

let folder = ''
let queue: WebhookQueue
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'outbox-'))
  const opened = await openQueue(pathToFileURL(join(folder, 'webhooks.db')).href)
  if (opened === false) throw new Error('not opened')
  queue = opened
})
afterEach(async () => {
  await queue.close()
  rmSync(folder, { recursive: true })
})

const eventOf = (seq: number, body = `body ${seq}`) => ({ seq, id: `e-${seq}`, lane: 'gate', at: seq, body })

const open = (parts: Partial<WebhookQueue> = {}) => {
  const lines: string[] = []
  const overflown: number[] = []
  const note = (event: string): void => void lines.push(event)
  const log = { debug: note, info: note, warn: note, error: note }
  const outbox = new Outbox({ queue: { ...queue, ...parts }, log, onOverflow: (seq) => void overflown.push(seq) })
  const stored = async () => (await queue.list()).map(({ receiver, seq }) => `${seq} ${receiver}`)
  return { outbox, lines, overflown, stored }
}

it('an event is stored at once for each receiver, and goes when the last has it', async () => {
  const { outbox, stored } = open()
  for (const seq of [1, 2]) outbox.add(eventOf(seq), ['one', 'other'])
  expect(await until(stored, ({ length }) => length === 4, 1000)).toEqual(['1 one', '1 other', '2 one', '2 other'])
  outbox.done('one', 1)
  outbox.done('other', 1)
  outbox.done('one', 2)
  await until(stored, ({ length }) => length === 1, 1000)
  expect([await queue.body(1), await outbox.body(2)]).toEqual([undefined, 'body 2'])
  await outbox.close()
})

it('what cannot be stored stays in memory and is stored later, without what was delivered meanwhile', async () => {
  let isLocked = true
  const { outbox, lines, stored } = open({ write: (changes) => (isLocked ? Promise.reject(new Error('locked')) : queue.write(changes)) })
  outbox.add(eventOf(1), ['one', 'other'])
  outbox.add(eventOf(2), ['one'])
  await until(
    () => lines.length,
    (count) => count === 1,
  )
  expect([lines, await outbox.body(1), await stored()]).toEqual([['webhook_events_not_stored'], 'body 1', []])
  outbox.done('one', 1)
  outbox.done('one', 2)
  isLocked = false
  expect(await until(stored, ({ length }) => length > 0)).toEqual(['1 other'])
  expect(lines).toEqual(['webhook_events_not_stored', 'webhook_events_stored_again'])
  await outbox.close()
})

it('the memory of what cannot be stored is bounded, and what waits at the end is stored then', async () => {
  let isLocked = true
  const { outbox, overflown, stored } = open({
    write: (changes) => (isLocked ? Promise.reject(new Error('locked')) : queue.write(changes)),
  })
  for (const seq of [1, 2, 3]) outbox.add(eventOf(seq, 'x'.repeat(30_000_000)), ['one'])
  expect(overflown).toEqual([1])
  outbox.add(eventOf(4), ['one'])
  isLocked = false
  await outbox.close()
  expect(await stored()).toEqual(['2 one', '3 one', '4 one'])
})
