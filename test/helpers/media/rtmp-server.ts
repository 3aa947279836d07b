import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'

export interface RtmpServer {
  readonly uri: string
  /** Ends it as a crash would: every connection is closed, and nothing listens any more. */
  stop(): Promise<void>
}

/** One tag of FLV: type, milliseconds, data; those of RTMP messages. */
interface Tag {
  readonly type: number
  readonly time: number
  readonly data: Buffer
}

const HANDSHAKE = 1536
const SET_CHUNK_SIZE = 1
const USER_CONTROL = 4
const COMMAND = 20
const CHUNK_SIZE = 1_000_000

/** A chunk with a full header (RTMP 1.0 section 5.3.1.2.1); a message is never longer than a chunk here. */
const chunk = (channel: number, stream: number, { type, time, data }: Tag): Buffer => {
  const head = Buffer.alloc(12)
  head.writeUInt8(channel, 0)
  head.writeUIntBE(time, 1, 3)
  head.writeUIntBE(data.length, 4, 3)
  head.writeUInt8(type, 7)
  head.writeUInt32LE(stream, 8)
  return Buffer.concat([head, data])
}

const number = (value: number): Buffer => {
  const bytes = Buffer.alloc(9)
  bytes.writeDoubleBE(value, 1)
  return bytes
}
const text = (value: string): Buffer => Buffer.concat([Buffer.from([0, value.length]), Buffer.from(value)])
const string = (value: string): Buffer => Buffer.concat([Buffer.from([2]), text(value)])
const object = (fields: Readonly<Record<string, string>>): Buffer =>
  Buffer.concat([
    Buffer.from([3]),
    ...Object.entries(fields).flatMap(([name, value]) => [text(name), string(value)]),
    Buffer.from([0, 0, 9]),
  ])
const NULL = Buffer.from([5])

const command = (stream: number, ...values: readonly Buffer[]): Buffer =>
  chunk(3, stream, { type: COMMAND, time: 0, data: Buffer.concat(values) })

const int32 = (value: number): Buffer => {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return bytes
}

/** Reads the tags of an FLV stream as they come. */
const readTags = (onTag: (tag: Tag) => void): ((bytes: Buffer) => void) => {
  let rest: Buffer = Buffer.alloc(0)
  let started = false
  return (bytes) => {
    rest = Buffer.concat([rest, bytes])
    if (!started && rest.length >= 13) {
      started = true
      rest = rest.subarray(13)
    }
    while (started && rest.length >= 11) {
      const length = rest.readUIntBE(1, 3)
      if (rest.length < 11 + length + 4) return
      onTag({ type: rest.readUInt8(0), time: rest.readUIntBE(4, 3), data: Buffer.from(rest.subarray(11, 11 + length)) })
      rest = rest.subarray(11 + length + 4)
    }
  }
}

/** Answers the commands of a player, found by their names: what else it sends is of no interest. */
const answer = (received: Buffer, done: Set<string>, socket: Socket, play: () => void): void => {
  const transaction = (name: string): number | undefined => {
    const at = received.indexOf(string(name))
    const end = at + 3 + name.length
    if (at === -1 || done.has(name) || received.length < end + 9) return undefined
    done.add(name)
    return received.readDoubleBE(end + 1)
  }
  const connect = transaction('connect')
  if (connect !== undefined) {
    socket.write(chunk(2, 0, { type: SET_CHUNK_SIZE, time: 0, data: int32(CHUNK_SIZE) }))
    const status = object({ level: 'status', code: 'NetConnection.Connect.Success', description: 'ok' })
    socket.write(command(0, string('_result'), number(connect), object({ fmsVer: 'FMS/3,0,1,123' }), status))
  }
  const createStream = transaction('createStream')
  if (createStream !== undefined) socket.write(command(0, string('_result'), number(createStream), NULL, number(1)))
  if (transaction('play') !== undefined) {
    socket.write(chunk(2, 0, { type: USER_CONTROL, time: 0, data: Buffer.concat([Buffer.from([0, 0]), int32(1)]) }))
    const status = object({ level: 'status', code: 'NetStream.Play.Start', description: 'ok' })
    socket.write(command(1, string('onStatus'), number(0), NULL, status))
    play()
  }
}

/** An RTMP server of one live stream at /live/stream: the FLV that `startEncoder` writes to its stdout, begun for each player. */
export const startRtmpServer = async (
  startEncoder: () => ChildProcess,
  { port = 0, edit = (tag) => tag }: { readonly port?: number; readonly edit?: (tag: Tag) => Tag } = {},
): Promise<RtmpServer> => {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    let received: Buffer = Buffer.alloc(0)
    let shaken = false
    let encoder: ChildProcess | undefined
    const done = new Set<string>()
    const play = (): void => {
      encoder = startEncoder()
      encoder.stdout?.on(
        'data',
        readTags((tag) => socket.write(chunk(6, 1, edit(tag)))),
      )
      encoder.once('exit', () => socket.end())
    }
    socket.on('error', () => {})
    socket.on('close', () => {
      sockets.delete(socket)
      encoder?.kill('SIGKILL')
    })
    socket.on('data', (bytes) => {
      received = Buffer.concat([received, bytes])
      if (!shaken && received.length >= 1 + HANDSHAKE) {
        shaken = true
        socket.write(Buffer.concat([Buffer.from([3]), Buffer.alloc(HANDSHAKE), received.subarray(1, 1 + HANDSHAKE)]))
      }
      answer(received, done, socket, play)
    })
  })
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('The RTMP server has no port')
  return {
    uri: `rtmp://127.0.0.1:${address.port}/live/stream`,
    stop: async () => {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()))
      for (const socket of sockets) socket.destroy()
      await closed
    },
  }
}

/** The same video under the codec number of H.265: 12, which FLV does not specify (section E.4.3.1) and many servers send. */
export const asH265 = (tag: Tag): Tag => {
  if (tag.type !== 9 || tag.data.length === 0) return tag
  const data = Buffer.from(tag.data)
  data.writeUInt8((data.readUInt8(0) & 0xf0) | 12, 0)
  return { ...tag, data }
}
