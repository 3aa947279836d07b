/** RTSP readers that only count bytes: rtsp-load.ts URL READERS [tcp|udp] [video|sound]; sound: both tracks. Prints a JSON line five times a second: { readers, bytes }. */
import { createSocket, type Socket } from 'node:dgram'
import { connect } from 'node:net'

const [url = '', count = '1', transport = 'tcp', tracks = 'video'] = process.argv.slice(2)
const { hostname, port } = new URL(url.replace(/^rtsp:/, 'http:'))
// One buffer for all: nothing is kept.
const buffer = Buffer.allocUnsafe(256 * 1024)
/** Half of what servers wait for a sign of life of a reader over UDP. */
const KEEP_ALIVE_MS = 30_000
let bytes = 0
let playing = 0

/** An even UDP port and the next one. */
const openPair = async (): Promise<number> => {
  for (;;) {
    const one = await bind(0)
    const { port } = one.address()
    const other = port % 2 === 0 ? await bind(port + 1).catch(() => undefined) : undefined
    if (other !== undefined) return port
    one.close()
  }
}

const bind = (port: number): Promise<Socket> =>
  new Promise((resolve, reject) => {
    const socket = createSocket({ type: 'udp4', recvBufferSize: 1024 * 1024 })
    socket.on('error', reject)
    socket.on('message', (packet) => {
      bytes += packet.length
    })
    socket.bind(port, '127.0.0.1', () => resolve(socket))
  })

const open = async () => {
  const media = tracks === 'sound' ? ['video', 'audio'] : ['video']
  const ports = transport === 'udp' ? await Promise.all(media.map(openPair)) : []
  const controls: string[] = []
  const transportOf = (track: number): string => {
    const port0 = ports[track] ?? 0
    return transport === 'udp'
      ? `RTP/AVP;unicast;client_port=${port0}-${port0 + 1}`
      : `RTP/AVP/TCP;unicast;interleaved=${2 * track}-${2 * track + 1}`
  }
  let [cseq, setUp] = [0, 0]
  let step: 'describe' | 'setup' | 'play' | 'media' = 'describe'
  let text = ''
  const send = (method: string, target: string, headers = '') =>
    socket.write(`${method} ${target} RTSP/1.0\r\nCSeq: ${++cseq}\r\n${headers}\r\n`)
  const answered = () => {
    if (step === 'describe') {
      const found = media.flatMap((type) => new RegExp(`m=${type}[\\s\\S]*?a=control:(\\S+)`).exec(text)?.[1] ?? [])
      if (found.length < media.length) return
      controls.push(...found.map((control) => (control.startsWith('rtsp:') ? control : `${url}/${control}`)))
      step = 'setup'
      send('SETUP', controls[0] ?? '', `Transport: ${transportOf(0)}\r\n`)
    } else if (step === 'setup') {
      const session = /Session: *([^;\r]+)/i.exec(text)?.[1]
      if (!session) return
      setUp += 1
      const next = controls[setUp]
      if (next !== undefined) {
        send('SETUP', next, `Session: ${session}\r\nTransport: ${transportOf(setUp)}\r\n`)
        text = ''
        return
      }
      step = 'play'
      send('PLAY', url, `Session: ${session}\r\nRange: npt=0-\r\n`)
      setInterval(() => send('GET_PARAMETER', url, `Session: ${session}\r\n`), KEEP_ALIVE_MS)
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
        if (step === 'media') bytes += transport === 'udp' ? 0 : length
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
for (let at = 0; at < Number(count); at += 1) setTimeout(() => void open(), 10 * at)
setInterval(() => console.log(JSON.stringify({ readers: playing, bytes })), 200)
