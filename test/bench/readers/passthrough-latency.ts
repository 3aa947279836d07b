/**
 * What a passthrough hop adds: the same access unit at the source and at our output, one process reading both over TCP.
 * passthrough-latency [UNITS] [recorded]: while the pipeline is recorded too. Units are matched by their payload, and timed at
 * their last packet.
 */

import { quantile } from '../../helpers/bench/measure.ts'
import { createPipeline, withService } from '../../helpers/bench/service-run.ts'
import { openReader, type RecordedPacket } from '../../helpers/rtsp/reader.ts'
import { startRtspSource } from '../../helpers/rtsp/source.ts'

const [count = '300', recorded] = process.argv.slice(2)
const units = Number(count)

/** The tail of a unit's last packet: after an encoder no two are alike. */
const fingerprint = ({ data }: RecordedPacket): string => data.subarray(-64).toString('base64')

const measure = (): Promise<readonly number[]> =>
  withService(async (service) => {
    const output = await createPipeline(service, { id: 'hop', source: { uri: source.url('/h264'), latency_ms: 0 } })
    if (recorded !== undefined) await service.request('PUT', '/svc/pipeline/hop/recording/start')
    const atSource = new Map<string, number>()
    const found: number[] = []
    const note = (packet: RecordedPacket): void => {
      if (packet.marker) atSource.set(fingerprint(packet), packet.arrivedMs)
    }
    const match = (packet: RecordedPacket): void => {
      const sent = packet.marker ? atSource.get(fingerprint(packet)) : undefined
      if (sent !== undefined) found.push(packet.arrivedMs - sent)
    }
    const before = await openReader(source.url('/h264'), { record: false, onPacket: note })
    const after = await openReader(output, { record: false, onPacket: match })
    await after.until(() => found.length >= units, units * 100 + 10_000)
    await before.close()
    await after.close()
    return found
  })

const source = await startRtspSource()
const latencies = await measure()
console.log(
  JSON.stringify({
    units: latencies.length,
    median_ms: Number(quantile(latencies, 0.5).toFixed(2)),
    p95_ms: Number(quantile(latencies, 0.95).toFixed(2)),
  }),
)
await source.stop()
