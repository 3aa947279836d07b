import { Writable } from 'node:stream'
import { beforeEach, expect, it, vi } from 'vitest'
import { GdpReader } from '../../../../engine/gst/gdp.ts'
import { ChildPipe } from '../../../../engine/ingest/child-pipe.ts'

const MB = 1024 * 1024
beforeEach(() => void vi.useFakeTimers({ toFake: ['performance'] }))

/** A child that reads when it is told to. */
const child = () => {
  const got: string[] = []
  const reader = new GdpReader(64 * MB, { onBuffer: ({ payload, pts }) => got.push(`${payload.subarray(0, 2)}@${pts}`) })
  let take = (): void => {}
  const stdin = new Writable({
    highWaterMark: 1,
    write: (chunk: Buffer, _encoding, done) => {
      take = () => {
        take = () => {}
        reader.push(chunk)
        done()
      }
    },
  })
  const drops: number[] = []
  const pipe = new ChildPipe(stdin, () => drops.push(performance.now()))
  const write = (name: string, ms: number, bytes = 2): void =>
    pipe.write([Buffer.alloc(bytes, name)], { ms, caps: () => 'video/x-raw', entry: name.startsWith('K') })
  const readAll = async (): Promise<void> => {
    while (stdin.writableLength > 0) {
      take()
      await new Promise(setImmediate)
    }
  }
  return { write, readAll, got, drops, waiting: () => stdin.writableLength }
}

it('writes buffers with their times, none before the first', async () => {
  const { write, readAll, got } = child()
  write('K0', -5)
  write('p1', 33.3)
  await readAll()
  expect(got).toEqual(['K0@0', 'p1@33300000'])
})

it.each([
  ['for three seconds', 3001, 2],
  ['16 MB', 1, 16 * MB],
])('what a child leaves unread %s is dropped up to the next key frame after it has read everything', async (_what, ms, bytes) => {
  const { write, readAll, got, drops, waiting } = child()
  write('K0', 0, bytes)
  vi.advanceTimersByTime(ms)
  const held = waiting()
  for (const name of ['p1', 'K2', 'p3']) write(name, 1)
  expect([waiting(), drops.length]).toEqual([held, 1])
  await readAll()
  for (const name of ['p4', 'K5', 'p6']) write(name, 1)
  await readAll()
  expect(got.map((text) => text.slice(0, 2))).toEqual(['K0', 'K5', 'p6'])
})
