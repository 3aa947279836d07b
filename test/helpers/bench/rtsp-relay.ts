/** The publisher fed over its standard input with RFC 4571 framed H.264: rtsp-relay.ts PORT. Prints "ready". */

import { parseRtpCaps } from '../../../engine/rtp/caps.ts'
import { RtpStream } from '../../../engine/rtp/stream.ts'
import { createPublisher } from '../../../engine/rtsp/publisher/publisher.ts'
import { silentLog } from '../rtsp/media.ts'
import { H264_CAPS } from '../rtsp/packets.ts'

const stream = new RtpStream()
const caps = parseRtpCaps(H264_CAPS)
stream.begin()
if (caps) stream.setCaps(caps)
process.stdin.on('data', (chunk: Buffer) => stream.ingest(chunk))
await createPublisher({ log: silentLog }).mount(
  { host: '127.0.0.1', port: Number(process.argv[2]), path: 'bench' },
  { streams: [stream], maxReaders: () => 1000, describeTimeoutMs: () => 10_000 },
)
console.log('ready')
