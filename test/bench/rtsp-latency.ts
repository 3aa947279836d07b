/**
 * What the publisher alone adds: from the last byte of an access unit written to its pipe to that unit complete at a reader,
 * over TCP and UDP; beside it the same bytes through a bare pipe into a bare socket. rtsp-latency [UNITS]
 */
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { quantile, sleep } from '../helpers/bench/measure.ts'
import { freePort } from '../helpers/ports.ts'

import { framedPackets, IDR, rtpPacket, SLICE } from '../helpers/rtsp/packets.ts'
import { openReader } from '../helpers/rtsp/reader.ts'

const units = Number(process.argv[2] ?? 300)
/** 8 Mbit/s at 30 fps. */
const PACKETS = 24

const measure = async (transport: 'tcp' | 'udp') => {
  const port = await freePort()
  const server = spawn(process.execPath, [join(import.meta.dirname, '../helpers/bench/rtsp-relay.ts'), String(port)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  await new Promise((resolve) => server.stdout.once('data', resolve))
  let sequence = 0
  const writeUnit = (unit: number) => {
    const packets = Array.from({ length: PACKETS }, (_, at) =>
      rtpPacket({
        sequence: sequence++,
        timestamp: unit * 3000,
        marker: at === PACKETS - 1,
        payload: Buffer.concat([unit % 60 ? SLICE : IDR, Buffer.alloc(1390)]),
      }),
    )
    // One write per packet, as rtpstreampay and fdsink do.
    for (const packet of packets) server.stdin.write(framedPackets(packet))
    return performance.now()
  }
  writeUnit(0)
  const reader = await openReader(`rtsp://127.0.0.1:${port}/bench`, { transport, record: false })
  await reader.until(() => reader.count === PACKETS)
  const latencies: number[] = []
  for (let unit = 1; unit <= units; unit += 1) {
    await sleep(1000 / 30)
    const written = writeUnit(unit)
    await reader.until(() => reader.count === (unit + 1) * PACKETS)
    latencies.push(performance.now() - written)
  }
  await reader.close()
  server.kill()
  return { transport, median_ms: quantile(latencies, 0.5).toFixed(2), p95_ms: quantile(latencies, 0.95).toFixed(2) }
}

for (const transport of ['tcp', 'udp'] as const) console.log(JSON.stringify(await measure(transport)))
