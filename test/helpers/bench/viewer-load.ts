/** HTTP clients that only count bytes: viewer-load.ts URL CLIENTS [AUTHORIZATION]. Prints one JSON line at an interval: { readers, bytes }. */
import { connect } from 'node:net'

const [address = '', count = '1', authorization] = process.argv.slice(2)
const { host, hostname, port, pathname } = new URL(address)
// One buffer for all: nothing is kept.
const buffer = Buffer.allocUnsafe(256 * 1024)
let bytes = 0
let readers = 0

for (let at = 0; at < Number(count); at += 1) {
  let begun = false
  const socket = connect({
    host: hostname,
    port: Number(port),
    onread: {
      buffer,
      callback: (length) => {
        if (!begun && buffer.toString('latin1', 0, 12) === 'HTTP/1.1 200') readers += 1
        begun = true
        bytes += length
        return true
      },
    },
  })
  socket.write(`GET ${pathname} HTTP/1.1\r\nHost: ${host}\r\n${authorization ? `Authorization: ${authorization}\r\n` : ''}\r\n`)
  socket.on('error', (error) => console.error(error.message))
  socket.on('close', () => console.error('closed'))
}
setInterval(() => console.log(JSON.stringify({ readers, bytes })), 200)
