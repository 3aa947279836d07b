/**
 * One source delays the frames of another by 20 ms at most, whatever it sends: a source of 100 frames a second with its reader, beside one
 * hostile source after the other. source-flood [SECONDS] [NAME,…]; exits 1 when a frame was late.
 */
import { setPriority } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { formatInterleaved } from '../../engine/rtsp/protocol/interleaved.ts'
import { quantile, start } from '../helpers/bench/measure.ts'
import { createPipeline, withService } from '../helpers/bench/service-run.ts'
import { FLOODS } from '../helpers/floods/floods.ts'
import { serveRtsp } from '../helpers/floods/rtsp-sender.ts'
import type { Service } from '../helpers/process/service.ts'
import { rtpPacket } from '../helpers/rtsp/packets.ts'
import { openReader } from '../helpers/rtsp/reader.ts'

const [seconds = '6', names = Object.keys(FLOODS).join()] = process.argv.slice(2)
const MOST_MS = 20
const FRAME_MS = 10
const FRAME_BYTES = 400

/** Frames that say when they were sent. */
const serveFrames = (): Promise<string> =>
  serveRtsp((socket) => {
    let at = 0
    const timer = setInterval(() => {
      const payload = Buffer.alloc(FRAME_BYTES, 0xa5)
      payload.write(at % 100 === 0 ? '6588' : '419a', 'hex')
      payload.writeDoubleBE(performance.now(), 8)
      socket.write(formatInterleaved(0, rtpPacket({ sequence: at, timestamp: at * 900, payload })))
      at += 1
    }, FRAME_MS)
    socket.on('close', () => clearInterval(timer))
  })

interface Delays {
  /** How long frames took from the source to the reader, milliseconds. */
  readonly ms: number[]
}

const measure = async (name: string, service: Service, { ms }: Delays): Promise<boolean> => {
  const flood = name === 'none' ? undefined : start(process.execPath, [join(import.meta.dirname, '../helpers/floods/floods.ts'), name])
  if (flood !== undefined) {
    setPriority(flood.pid, 10)
    await flood.until((lines) => lines.length > 0)
  }
  // The start of a process held up the reader, which is in this one.
  const from = ms.length
  if (flood !== undefined) {
    const uri = flood.lines[0] ?? ''
    const { status, body } = await service.request('POST', '/svc/pipeline?start=background', { id: name, mode: 'simple', source: { uri } })
    if (status !== 201) throw new Error(JSON.stringify(body))
  }
  await sleep(Number(seconds) * 1000)
  const runtime = flood && (await service.request('GET', `/svc/pipeline/${name}`)).body.runtime
  if (flood !== undefined) await service.request('PUT', `/svc/pipeline/${name}/stop`)
  await flood?.stop()
  const delays = ms.slice(from)
  const [median, most] = [quantile(delays, 0.5), Math.max(...delays)]
  const late = delays.filter((delay) => delay > MOST_MS).length
  const round = (value: number) => Math.round(value * 10) / 10
  console.log(
    JSON.stringify({
      name,
      frames: delays.length,
      median_ms: round(median),
      most_ms: round(most),
      late,
      phase: runtime?.phase,
      reason: runtime?.last_error?.reason,
    }),
  )
  return late === 0
}

const good = await withService(async (service) => {
  const url = await createPipeline(service, { id: 'good', source: { uri: await serveFrames() } })
  const delays: Delays = { ms: [] }
  const reader = await openReader(url, {
    record: false,
    onPacket: ({ data, arrivedMs }) => {
      if (data.length === 12 + FRAME_BYTES) delays.ms.push(arrivedMs - data.readDoubleBE(12 + 8))
    },
  })
  await sleep(5000)
  const results: boolean[] = []
  for (const name of ['none', ...names.split(',')]) results.push(await measure(name, service, delays))
  await reader.close()
  return results.every(Boolean)
}, {})
process.exit(good ? 0 : 1)
