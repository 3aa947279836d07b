/**
 * The publisher as a process of its own, for measurements: rtsp-server.ts PORT PATH DESCRIPTION. Prints "ready" and the child's pid.
 * BENCH_PASSWORD: what readers need; BENCH_CERT and BENCH_KEY: PEM files, for rtsps.
 */

import { createPublisher } from '../../../engine/rtsp/publisher/publisher.ts'
import { silentLog, startMedia } from '../rtsp/media.ts'

const [port = '0', path = 'bench', description = ''] = process.argv.slice(2)
const media = startMedia([description])
const { BENCH_PASSWORD: password, BENCH_CERT: cert, BENCH_KEY: key } = process.env
const publisher = createPublisher({ log: silentLog, ...(cert && key && { tls: { files: { cert, key }, required: false } }) })
if (password) publisher.requireCredentials({ username: 'viewer', password })
const mount = await publisher.mount(
  { host: '127.0.0.1', port: Number(port), path },
  { streams: media.streams, maxReaders: () => 10_000, describeTimeoutMs: () => 10_000 },
)
process.on('SIGTERM', () => {
  if (process.env.BENCH_STATS) console.error(JSON.stringify(mount.stats))
  process.exit()
})
console.log(`ready ${media.child.pid}`)
