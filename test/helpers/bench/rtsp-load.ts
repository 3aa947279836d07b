/** RTSP readers over TCP that only count bytes: rtsp-load.ts URL READERS. Prints one JSON line a second: { readers, bytes }. */
import { connect } from 'node:net'

const [url = '', count = '1'] = process.argv.slice(2)
const { hostname, port } = new URL(url.replace(/^rtsp:/, 'http:'))
// One buffer for all: nothing is kept.
const buffer = Buffer.allocUnsafe(256 * 1024)
let bytes = 0
let playing = 0

const open = () => {
  let cseq = 0
  let step: 'describe' | 'setup' | 'play' | 'media' = 'describe'
  let text = ''
  const send = (method: string, target: string, headers = '') =>
    socket.write(`${method} ${target} RTSP/1.0\r\nCSeq: ${++cseq}\r\n${headers}\r\n`)
  const answered = () => {
    if (step === 'describe') {
      const control = /m=video[\s\S]*?a=control:(\S+)/.exec(text)?.[1]
      if (!control) return
      step = 'setup'
      send('SETUP', control.startsWith('rtsp:') ? control : `${url}/${control}`, 'Transport: RTP/AVP/TCP;unicast;interleaved=0-1\r\n')
    } else if (step === 'setup') {
      const session = /Session: *([^;\r]+)/i.exec(text)?.[1]
      if (!session) return
      step = 'play'
      send('PLAY', url, `Session: ${session}\r\nRange: npt=0-\r\n`)
    } else if (text.includes('200 OK')) {
      step = 'media'
      playing += 1
    }
    text = ''
  }
  const socket = connect({
    host: hostname,
    port: Number(port),
    onread: {
      buffer,
      callback: (length) => {
        if (step === 'media') bytes += length
        else {
          text += buffer.toString('latin1', 0, length)
          answered()
        }
        return true
      },
    },
  })
  socket.on('connect', () => send('DESCRIBE', url, 'Accept: application/sdp\r\n'))
  socket.on('error', (error) => console.error(error.message))
  socket.on('close', () => console.error('closed'))
}

// gst-rtsp-server has a backlog of 5.
for (let at = 0; at < Number(count); at += 1) setTimeout(open, 10 * at)
setInterval(() => console.log(JSON.stringify({ readers: playing, bytes })), 200)
