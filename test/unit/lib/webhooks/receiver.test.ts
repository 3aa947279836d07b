import { expect, it } from 'vitest'
import { MAX_WAITING, Receiver } from '../../../../lib/webhooks/receiver.ts'
import { startHttpServer } from '../../../helpers/http-server.ts'
import { until } from '../../../helpers/until.ts'

const HOUR = 3_600_000
const SECRET = 'twenty-four characters or more'
const EVENTS = ['pipeline_status' as const]

/** A receiver with what it logs and gives back. */
const open = (url: string) => {
  const clock = { time: 0, now: () => clock.time }
  const lines: [event: string, fields: Readonly<Record<string, unknown>>][] = []
  const done: number[] = []
  const note = (event: string, fields = {}): void => void lines.push([event, fields])
  const log = { debug: () => {}, info: note, warn: note, error: note }
  const webhook = { url, secret: SECRET, events: [...EVENTS] }
  const receiver = new Receiver({
    webhook,
    clock,
    log,
    body: async (seq) => (seq === 3 ? undefined : '{}'),
    onDone: (seq) => done.push(seq),
  })
  const add = (seq: number, lane: string): void => receiver.add({ seq, id: `e-${seq}`, lane, at: clock.time })
  return { receiver, clock, lines, done, add, webhook }
}

it('the oldest event is given up when 10,000 wait, and the log says how many', async () => {
  const { receiver, lines, done, add } = open('http://user:pa55word@127.0.0.1:2/a-secret-path')
  for (let seq = 10; seq < 10 + MAX_WAITING; seq += 1) add(seq, 'gate')
  expect([receiver.waiting, done, receiver.droppedAt]).toEqual([10_000, [], undefined])
  for (let seq = 20_000; seq < 20_003; seq += 1) add(seq, `p${seq}`)
  expect([receiver.waiting, done, receiver.droppedAt]).toEqual([10_000, [10, 11, 12], 0])
  receiver.end()
  const dropped = lines.filter(([event]) => event === 'webhook_events_dropped').map(([, { receiver: to, events }]) => [to, events])
  expect(dropped).toEqual([
    ['http://127.0.0.1:2', 1],
    ['http://127.0.0.1:2', 2],
  ])
  expect(JSON.stringify(lines)).not.toMatch(/pa55word|secret/)
})

it('what is older than 24 hours is given up after an attempt; what is not stored is passed over; another secret tries at once', async () => {
  const asked: unknown[] = []
  let status = 500
  const { url } = await startHttpServer(({ headers }, response) => {
    asked.push(headers['webhook-id'])
    response.writeHead(status).end()
  })
  const { receiver, clock, lines, done, add, webhook } = open(url)
  for (const seq of [1, 2]) add(seq, 'gate')
  await until(
    () => lines.length,
    (count) => count === 1,
  )
  expect([lines[0]?.[0], lines[0]?.[1].retry_in_seconds]).toEqual(['webhook_failed', 1])
  clock.time = 24 * HOUR
  for (const seq of [3, 4]) add(seq, 'gate')
  await until(
    () => done.length,
    (count) => count === 2,
  )
  expect([asked, done, receiver.waiting]).toEqual([['e-1', 'e-1'], [1, 2], 2])
  status = 204
  receiver.update({ ...webhook, secret: `another ${SECRET}` })
  await until(
    () => receiver.waiting,
    (waiting) => waiting === 0,
    900,
  )
  expect([asked.slice(2), done]).toEqual([['e-4'], [1, 2, 3, 4]])
  expect(lines.map(([event]) => event)).toContain('webhook_delivered_again')
  receiver.end()
})
