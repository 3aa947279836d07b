import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { parseAddress } from '../../../../../engine/faults/address.ts'
import { ClientConnection } from '../../../../../engine/rtsp/client/client-connection.ts'
import { formatInterleaved } from '../../../../../engine/rtsp/protocol/interleaved.ts'
import { Random } from '../../../../helpers/rtsp/random-bytes.ts'

const answer = (cseq: number | undefined, status: number): string =>
  `RTSP/1.0 ${status} Whatever\r\n${cseq === undefined ? '' : `CSeq: ${cseq}\r\n`}\r\n`

/** A connection to a server that does this with what it is sent. */
const openTo = async (onData: (socket: Socket, data: Buffer) => void): Promise<ClientConnection> => {
  const server = createServer((socket) => {
    socket.on('error', () => {})
    socket.on('data', (data) => onData(socket, data))
  }).listen(0, '127.0.0.1')
  onTestFinished(() => void server.close())
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const connection = await ClientConnection.open(parseAddress(`rtsp://127.0.0.1:${port}/`), new AbortController().signal)
  onTestFinished(() => connection.close())
  return connection
}

/** A connection to a server that answers each request with what `answers` has for its number. */
const open = (answers: (cseq: number) => readonly string[]): Promise<ClientConnection> =>
  openTo((socket, data) => {
    for (const [, cseq] of data.toString().matchAll(/^CSeq: (\d+)/gim)) for (const text of answers(Number(cseq))) socket.write(text)
  })

const never = new AbortController().signal

/** Frames of random sizes, each filled with its number, in pieces that respect no frame. */
const piecesOfFrames = (seed: number, count: number): readonly Buffer[] => {
  const random = new Random(seed)
  const frames = Array.from({ length: count }, (_, number) => formatInterleaved(0, Buffer.alloc(1 + random.integer(3000), number)))
  const bytes = Buffer.concat(frames)
  const pieces: Buffer[] = []
  for (let at = 0; at < bytes.length; at += pieces.at(-1)?.length ?? 1) pieces.push(bytes.subarray(at, at + 1 + random.integer(20_000)))
  return pieces
}

describe('a connection to an RTSP source', () => {
  it('does not take a late response for that of the next request', async () => {
    const connection = await open((cseq) => (cseq === 1 ? [] : [answer(1, 404), answer(2, 200)]))
    const deadline = new AbortController()
    const given = connection.request('OPTIONS', '*', {}, deadline.signal)
    deadline.abort(new Error('no answer in time'))
    await expect(given).rejects.toThrow('no answer in time')
    expect((await connection.request('OPTIONS', '*', {}, never)).status).toBe(200)
  })

  it('understands a server that gives its responses no number, or a wrong one', async () => {
    const connection = await open((cseq) => [answer(cseq === 1 ? undefined : 99, 200 + cseq)])
    expect((await connection.request('OPTIONS', '*', {}, never)).status).toBe(201)
    expect((await connection.request('OPTIONS', '*', {}, never)).status).toBe(202)
  })

  it.each([0, 1, 5, 60])('keeps the frames as long as they are needed: %i at a time', async (held) => {
    const pieces = piecesOfFrames(held, 1500)
    // The one request is answered by all of them.
    const connection = await openTo(async (socket) => {
      for (const piece of pieces) {
        socket.write(piece)
        await new Promise((resolve) => setImmediate(resolve))
      }
    })
    const needed: { readonly number: number; readonly payload: Buffer }[] = []
    const spoiled: number[] = []
    let frames = 0
    const { promise, resolve } = Promise.withResolvers<void>()
    connection.handlers = {
      onFrame: (_channel, payload) => {
        needed.push({ number: frames, payload })
        frames += 1
        if (needed.length > held) {
          for (const each of needed.splice(0)) if (each.payload.some((byte) => byte !== (each.number & 0xff))) spoiled.push(each.number)
        }
        if (frames === 1500) resolve()
      },
      onRequest: () => {},
      onRead: () => {},
      holdsFrames: () => needed.length > 0,
    }
    void connection.request('PLAY', '*', {}, never).catch(() => {})
    await promise
    expect(spoiled).toEqual([])
  })

  it('reads into the same buffer again when nothing of it is needed', async () => {
    // Each request is answered by a frame.
    const connection = await openTo((socket) => void socket.write(formatInterleaved(0, Buffer.alloc(60_000, 1))))
    const buffers = new Set<ArrayBufferLike>()
    const { promise, resolve } = Promise.withResolvers<void>()
    let frames = 0
    const ask = (): void => connection.sendFrame(formatInterleaved(1, Buffer.alloc(8)))
    connection.handlers = {
      onFrame: (_channel, payload) => {
        // A frame that came in several reads may begin in one buffer and end in another: then it is a copy.
        buffers.add(payload.buffer)
        if (++frames === 100) resolve()
        else ask()
      },
      onRequest: () => {},
      onRead: () => {},
      holdsFrames: () => false,
    }
    ask()
    await promise
    expect(buffers.size).toBeLessThan(10)
  })
})
