import { connect, type Socket } from 'node:net'

/** What a load found: how many answers came, and how large one body was. */
export interface Load {
  readonly answers: number
  readonly bodyBytes: number
  readonly seconds: number
}

const HEAD_END = Buffer.from('\r\n\r\n')
const CHUNKED_END = Buffer.from('\r\n0\r\n\r\n')

/** Sends the same GET over kept connections, the next as soon as an answer has come, until the time has passed. Throws at any status but 200. */
export const loadGets = async (url: string, options: { readonly connections: number; readonly seconds: number }): Promise<Load> => {
  const began = performance.now()
  const until = began + options.seconds * 1000
  const counts = await Promise.all(Array.from({ length: options.connections }, () => askRepeatedly(new URL(url), until)))
  return {
    answers: counts.reduce((sum, { answers }) => sum + answers, 0),
    bodyBytes: counts[0]?.bodyBytes ?? 0,
    seconds: (performance.now() - began) / 1000,
  }
}

const askRepeatedly = ({ hostname, port, host, pathname }: URL, until: number): Promise<{ answers: number; bodyBytes: number }> =>
  new Promise((resolve, reject) => {
    const request = `GET ${pathname} HTTP/1.1\r\nHost: ${host}\r\n\r\n`
    let answers = 0
    let answer: Answer = new Answer()
    const socket: Socket = connect({ host: hostname, port: Number(port) }, () => void socket.write(request))
    socket.setNoDelay(true)
    socket.once('error', reject)
    socket.once('close', () => reject(new Error('The server closed the connection')))
    socket.on('data', (chunk) => {
      try {
        if (!answer.take(chunk)) return
      } catch (error) {
        return void socket.destroy(error as Error)
      }
      answers += 1
      const { bodyBytes } = answer
      if (performance.now() < until) {
        answer = new Answer()
        socket.write(request)
        return
      }
      socket.removeAllListeners('close')
      socket.destroy()
      resolve({ answers, bodyBytes })
    })
  })

/** One answer as it comes; the body is counted, not kept. */
class Answer {
  bodyBytes = 0
  #head: Buffer | undefined = Buffer.alloc(0)
  #length: number | undefined
  #tail = Buffer.alloc(0)

  /** Whether the answer is complete. */
  take(chunk: Buffer): boolean {
    if (this.#head === undefined) return this.#takeBody(chunk)
    this.#head = Buffer.concat([this.#head, chunk])
    const end = this.#head.indexOf(HEAD_END)
    if (end < 0) return false
    const head = this.#head.toString('latin1', 0, end)
    if (!head.startsWith('HTTP/1.1 200')) throw new Error(head.split('\r\n')[0])
    const length = /^content-length: (\d+)$/im.exec(head)?.[1]
    this.#length = length === undefined ? undefined : Number(length)
    const body = this.#head.subarray(end + HEAD_END.length - (length === undefined ? 2 : 0))
    this.#head = undefined
    return this.#takeBody(body)
  }

  #takeBody(chunk: Buffer): boolean {
    this.bodyBytes += chunk.length
    if (this.#length !== undefined) return this.bodyBytes >= this.#length
    this.#tail = Buffer.concat([this.#tail, chunk]).subarray(-CHUNKED_END.length)
    return this.#tail.equals(CHUNKED_END)
  }
}
