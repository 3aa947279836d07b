import { connect } from 'node:net'

export interface RawAnswer {
  readonly statuses: readonly number[]
  readonly text: string
}

/** Sends raw bytes and reads until the server closes or `enough` answers came. */
export const sendRaw = (origin: string, bytes: string | Buffer, enough = Number.POSITIVE_INFINITY): Promise<RawAnswer> =>
  new Promise((resolve) => {
    const { hostname, port } = new URL(origin)
    const socket = connect({ host: hostname, port: Number(port) })
    let text = ''
    const finish = (): void => resolve({ statuses: statusesOf(text), text })
    socket.setEncoding('latin1').on('data', (data) => {
      text += data
      if (completeAnswers(text) >= enough) socket.destroy()
    })
    // The server may answer and reset the connection before it has read everything.
    socket.on('error', () => undefined).once('close', finish)
    socket.write(bytes)
  })

const statusesOf = (text: string): number[] => [...text.matchAll(/^HTTP\/1\.1 (\d{3})/gm)].map(([, status]) => Number(status))

/** Counts answers whose body is complete, chunked or of a known length. */
const completeAnswers = (text: string): number =>
  text.split(/^(?=HTTP\/1\.1 )/m).filter((answer) => {
    const [head = '', body = ''] = [answer.slice(0, answer.indexOf('\r\n\r\n')), answer.slice(answer.indexOf('\r\n\r\n') + 4)]
    const length = /^content-length: (\d+)/im.exec(head)?.[1]
    if (!answer.includes('\r\n\r\n') || /^HTTP\/1\.1 1/.test(answer)) return false
    return length === undefined ? body.endsWith('0\r\n\r\n') : body.length >= Number(length)
  }).length
