/**
 * KLV of running pipelines: whether every packet arrives with the right values, how long it takes to its SSE event, and what it costs.
 * klv-delivery [SECONDS OF THE LONG RUN] [PIPELINES] [SECONDS OF EACH CPU FIGURE]
 * The service runs as it is built, the source is gst-rtsp-server at 10 packets per second; the clients live in this process.
 */
import { readFileSync } from 'node:fs'
import { followSse } from '../../helpers/api/sse-client.ts'
import { createPipeline, withService } from '../../helpers/bench/service-run.ts'
import type { Service } from '../../helpers/process/service.ts'
import { startRtspSource } from '../../helpers/rtsp/source.ts'

const SECONDS = Number(process.argv[2] ?? 60)
const PIPELINES = Number(process.argv[3] ?? 20)
const CPU_SECONDS = Number(process.argv[4] ?? 10)
const TICKS_PER_SECOND = 100

interface Packet {
  readonly received_at: string
  readonly values: Readonly<Record<string, number>>
}

interface Followed {
  readonly numbers: number[]
  /** Milliseconds from the engine's time of arrival (whole milliseconds) to the event at the client. */
  readonly delaysMs: number[]
  offTrack: number
}

const print = (line: string): void => void process.stdout.write(`${line}\n`)
const sleep = (seconds: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, seconds * 1000))
const quantile = (values: readonly number[], part: number): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length * part)] ?? 0
const summary = (delays: readonly number[]): string =>
  `median ${quantile(delays, 0.5)}, p95 ${quantile(delays, 0.95)}, p99 ${quantile(delays, 0.99)}, max ${quantile(delays, 1 - 1 / delays.length)} ms`

const numberOf = ({ values }: Packet): number => Math.round(((values.sensor_latitude ?? 0) + 27.6) * 1e4)

/** The known track of the source, see test/fixtures/rtsp-source.py; half a step of each tag is allowed. */
const isOnTrack = (packet: Packet): boolean => {
  const n = numberOf(packet)
  const { sensor_latitude = 0, sensor_longitude = 0, sensor_true_altitude = 0, platform_heading_angle = 0 } = packet.values
  return (
    Math.abs(sensor_latitude - (-27.6 + n * 1e-4)) < 90 / 2 ** 31 &&
    Math.abs(sensor_longitude - (-48.5 + n * 1e-4)) < 180 / 2 ** 31 &&
    Math.abs(sensor_true_altitude - (120 + (n % 100))) < 19900 / 2 ** 16 &&
    Math.abs(platform_heading_angle - ((n * 3) % 360)) < 360 / 2 ** 16
  )
}

/** Follows the packets of a pipeline until the returned function is called. */
const follow = async (service: Service, id: string): Promise<() => Promise<Followed>> => {
  const client = followSse(await fetch(`${service.url}/svc/pipeline/${id}/klv/events`))
  const followed: Followed = { numbers: [], delaysMs: [], offTrack: 0 }
  const reading = (async () => {
    for (let block = await client.next(); block !== undefined; block = await client.next()) {
      if (block.event !== 'klv') continue
      const packet = block.data as Packet
      followed.delaysMs.push(Date.now() - Date.parse(packet.received_at))
      followed.numbers.push(numberOf(packet))
      if (!isOnTrack(packet)) followed.offTrack += 1
    }
  })()
  return async () => {
    await client.leave()
    await reading
    return followed
  }
}

const missing = ({ numbers }: Followed): number =>
  numbers.slice(1).reduce((sum, number, at) => sum + Math.max(0, number - (numbers[at] ?? 0) - 1), 0)

const cpuOf = (pid: number): number => {
  const fields = readFileSync(`/proc/${pid}/stat`, 'latin1')
    .replace(/^.*\) /s, '')
    .split(' ')
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND
}

/** CPU of the engine and the API process while nothing else is done, percent of one core. */
const measureCpu = async (service: Service, label: string): Promise<void> => {
  const [engine, api] = [service.enginePid(), service.pid]
  const before = [cpuOf(engine), cpuOf(api)]
  await sleep(CPU_SECONDS)
  const [engineCpu, apiCpu] = [engine, api].map((pid, at) => (((cpuOf(pid) - (before[at] ?? 0)) / CPU_SECONDS) * 100).toFixed(1))
  print(`  ${label}: engine ${engineCpu} %, API ${apiCpu} % of a core`)
}

const longRun = async (service: Service, uri: string): Promise<void> => {
  await createPipeline(service, { id: 'long', source: { uri, latency_ms: 50 } })
  await service.request('PUT', '/svc/pipeline/long/klv/start')
  const end = await follow(service, 'long')
  await sleep(SECONDS)
  const followed = await end()
  print(
    `one pipeline, ${SECONDS} s: ${followed.numbers.length} packets, ${missing(followed)} missing, ${followed.offTrack} off the known track`,
  )
  print(`  arrival in the engine to SSE event: ${summary(followed.delaysMs)}`)
  await service.request('PUT', '/svc/pipeline/long/stop')
}

const manyAtOnce = async (service: Service, uri: string, count: number): Promise<void> => {
  const ids = Array.from({ length: count }, (_, at) => `many-${count}-${at}`)
  const each = (act: (id: string) => Promise<unknown>): Promise<unknown> => Promise.all(ids.map(act))
  for (const id of ids)
    await createPipeline(service, { id, source: { uri, latency_ms: 50 }, klv_config: { auto_extract_geolocation: true } })
  print(`${count} pipelines with KLV at 10 packets per second`)
  await each((id) => service.request('PUT', `/svc/pipeline/${id}/klv/stop`))
  await measureCpu(service, 'not decoded')
  await each((id) => service.request('PUT', `/svc/pipeline/${id}/klv/start`))
  await measureCpu(service, 'decoded, place kept once a second')
  const ends = await Promise.all(ids.map((id) => follow(service, id)))
  await measureCpu(service, 'decoded, place kept, every packet followed by one client')
  const all = await Promise.all(ends.map((end) => end()))
  const delays = all.flatMap(({ delaysMs }) => delaysMs)
  const lost = all.reduce((sum, followed) => sum + missing(followed) + followed.offTrack, 0)
  print(`  ${delays.length} packets followed, ${lost} missing or off the known track; arrival to SSE event: ${summary(delays)}`)
  await each((id) => service.request('PUT', `/svc/pipeline/${id}/stop`))
}

const source = await startRtspSource(['--fps', '15', '--bitrate', '500'])
await withService(async (service) => {
  await longRun(service, source.url('/klv'))
  await manyAtOnce(service, source.url('/klv'), 1)
  await manyAtOnce(service, source.url('/klv'), PIPELINES)
})
await source.stop()
