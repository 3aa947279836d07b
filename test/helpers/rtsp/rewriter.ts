import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

interface RtspRewriter {
  readonly port: number
  close(): Promise<void>
}

/** Maps one RTSP message, or one interleaved frame (it begins with `$`), of the server. */
type Rewrite = (message: Buffer) => Buffer

/** A TCP proxy that rewrites the messages of an RTSP server. */
export const startRtspRewriter = async (serverPort: number, rewrite: Rewrite): Promise<RtspRewriter> => {
  const sockets = new Set<Socket>()
  const server = createServer((client) => {
    const upstream = connect(serverPort, '127.0.0.1')
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.on('error', () => {})
      socket.on('close', () => {
        sockets.delete(socket)
        client.destroy()
        upstream.destroy()
      })
    }
    client.pipe(upstream)
    let rest: Buffer = Buffer.alloc(0)
    upstream.on('data', (chunk: Buffer) => {
      rest = Buffer.concat([rest, chunk])
      for (let length = messageLength(rest); length > 0 && length <= rest.length; length = messageLength(rest)) {
        client.write(rewrite(Buffer.from(rest.subarray(0, length))))
        rest = rest.subarray(length)
      }
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    close: async () => {
      for (const socket of sockets) socket.destroy()
      await new Promise<void>((resolve) => server.close(() => resolve()))
    },
  }
}

/** Length of the message at the start of `bytes`; 0 while unknown. */
const messageLength = (bytes: Buffer): number => {
  if (bytes[0] === 0x24) return bytes.length < 4 ? 0 : 4 + bytes.readUInt16BE(2)
  const head = bytes.indexOf('\r\n\r\n')
  if (head < 0) return 0
  const contentLength = /^content-length: *(\d+)/im.exec(bytes.toString('latin1', 0, head))?.[1]
  return head + 4 + Number(contentLength ?? 0)
}

/** Replaces a text by another of the same length in every RTSP message. */
export const replaceText =
  (from: string, to: string): Rewrite =>
  (message) => {
    if (from.length !== to.length) throw new RangeError('Content-Length would be wrong')
    return message[0] === 0x24 ? message : Buffer.from(message.toString('latin1').replace(from, to), 'latin1')
  }

/** Replaces the RTP payloads of an interleaved channel. */
export const replacePayload =
  (
    channel: number,
    payload: (original: Uint8Array, marker: boolean) => { readonly payload: Uint8Array; readonly marker: boolean },
  ): Rewrite =>
  (message) => {
    if (message[0] !== 0x24 || message[1] !== channel || message.length < 16) return message
    const changed = payload(message.subarray(16), ((message[5] ?? 0) & 0x80) !== 0)
    const frame = Buffer.concat([message.subarray(0, 16), changed.payload])
    frame.writeUInt16BE(frame.length - 4, 2)
    frame[5] = ((frame[5] ?? 0) & 0x7f) | (changed.marker ? 0x80 : 0)
    return frame
  }
