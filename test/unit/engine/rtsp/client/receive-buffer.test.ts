import { expect, it } from 'vitest'
import { ReceiveBuffer } from '../../../../../engine/rtsp/client/receive-buffer.ts'

/** As a connection does: the kernel fills the room, then the chunk is taken. */
const receive = (received: ReceiveBuffer, text: string): Buffer => {
  const bytes = received.room().write(text)
  return received.take(bytes)
}

it('chunks lie one behind the other until they are not needed any more', () => {
  const received = new ReceiveBuffer()
  const [first, second] = [receive(received, 'first'), receive(received, 'second')]
  expect(second.buffer).toBe(first.buffer)
  expect(second.byteOffset).toBe(first.byteOffset + first.length)
  expect([first, second].map(String)).toEqual(['first', 'second'])
  received.reuse()
  const third = receive(received, 'third')
  expect([third.buffer, third.byteOffset]).toEqual([first.buffer, first.byteOffset])
})

it('chunks that are still needed stay as they are when the buffer is full', () => {
  const received = new ReceiveBuffer()
  const texts = Array.from({ length: 40 }, (_, at) => String(at).padEnd(10_000, '.'))
  const chunks = texts.map((text) => receive(received, text))
  expect(chunks.map(String)).toEqual(texts)
  expect(new Set(chunks.map(({ buffer }) => buffer)).size).toBeGreaterThan(5)
})

it('full buffers are used again, a few of them, once nothing of them is needed', () => {
  const received = new ReceiveBuffer()
  const fill = (): ReadonlySet<ArrayBufferLike> =>
    new Set(Array.from({ length: 40 }, (_, at) => receive(received, String(at).padEnd(10_000, '.')).buffer))
  const before = fill()
  received.reuse()
  expect([...fill()].filter((buffer) => before.has(buffer)).length).toBe(5)
})

it('there is room for a whole read at any time', () => {
  const received = new ReceiveBuffer()
  for (let round = 0; round < 200; round += 1) {
    expect(received.room().length).toBeGreaterThanOrEqual(16 * 1024)
    received.take(1 + ((round * 7919) % (16 * 1024)))
  }
})
