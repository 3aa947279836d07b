import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { parseAddress } from '../../../../engine/sources/address.ts'
import { RtspConnection } from '../../../../engine/sources/rtsp-connection.ts'

const answer = (cseq: number | undefined, status: number): string =>
  `RTSP/1.0 ${status} Whatever\r\n${cseq === undefined ? '' : `CSeq: ${cseq}\r\n`}\r\n`

/** A connection to a server that answers each request with what `answers` has for its number. */
const open = async (answers: (cseq: number) => readonly string[]): Promise<RtspConnection> => {
  const server = createServer((socket) => {
    socket.on('error', () => {})
    socket.on('data', (data) => {
      for (const [, cseq] of data.toString().matchAll(/^CSeq: (\d+)/gim)) for (const text of answers(Number(cseq))) socket.write(text)
    })
  }).listen(0, '127.0.0.1')
  onTestFinished(() => void server.close())
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const connection = await RtspConnection.open(parseAddress(`rtsp://127.0.0.1:${port}/`), new AbortController().signal)
  onTestFinished(() => connection.close())
  return connection
}

const never = new AbortController().signal

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
})
