/**
 * How soon the end of a source is noticed, and how soon there is video again after its return, for each way a source can reach the
 * service: noticed within 500 ms, video again within 1,500 ms of its return. source-ends [SECONDS AWAY]. The delays between
 * two attempts are at most one second here (by default they double up to 30 s), and part of the second figure.
 */
import assert from 'node:assert/strict'
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sleep } from '../helpers/bench/measure.ts'
import { createPipeline, withService } from '../helpers/bench/service-run.ts'
import { startRtmpServer } from '../helpers/media/rtmp-server.ts'
import { freePort } from '../helpers/ports.ts'
import type { Service } from '../helpers/process/service.ts'

import { openReader } from '../helpers/rtsp/reader.ts'
import { startRtspSource } from '../helpers/rtsp/source.ts'
import { until } from '../helpers/until.ts'

const awayMs = Number(process.argv[2] ?? 1) * 1000
const TARGET_NOTICED_MS = 500
const TARGET_AGAIN_MS = 1500

const VIDEO = '-f lavfi -i testsrc2=size=320x240:rate=25 -t 3 -c:v libx264 -preset ultrafast -tune zerolatency -g 12 -pix_fmt yuv420p'

const folder = mkdtempSync(join(tmpdir(), 'source-ends-'))
const FILES = { 'a file (MPEG-TS)': 'ends.ts', 'a file (MP4)': 'ends.mp4' } as const

/** Sends the recording over and over: nothing is encoded meanwhile. */
const ffmpeg = (output: string): ChildProcess =>
  spawn('ffmpeg', ['-v', 'quiet', ...`-re -stream_loop -1 -i ${folder}/ends.mp4 -c copy ${output}`.split(' ')], {
    stdio: ['ignore', 'pipe', 'ignore'],
  })

/** A running source; `stop` takes it away as a crash would. */
interface Source {
  readonly uri: string
  stop(): Promise<void>
}

const rtsp =
  (path: string, transport: 'tcp' | 'udp') =>
  async (port: number): Promise<Source> => {
    const source = await startRtspSource(['--port', String(port), '--transport', transport])
    return { uri: source.url(path), stop: source.stop }
  }

/** A response that lasts as long as the source. */
const http =
  (path: string, type: string, format: string) =>
  async (port: number): Promise<Source> => {
    const senders = new Set<ChildProcess>()
    const server = createServer((_request, response) => {
      const sender = ffmpeg(`-f ${format} pipe:1`)
      senders.add(sender)
      response.writeHead(200, { 'content-type': type })
      sender.stdout?.pipe(response)
      response.on('close', () => {
        sender.kill('SIGKILL')
        senders.delete(sender)
      })
    })
    await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
    return {
      uri: `http://127.0.0.1:${port}${path}`,
      stop: async () => {
        server.close()
        server.closeAllConnections()
        for (const sender of senders) sender.kill('SIGKILL')
      },
    }
  }

const rtmp = (port: number): Promise<Source> => startRtmpServer(() => ffmpeg('-f flv pipe:1'), { port })

const SOURCES = {
  'RTSP over TCP': rtsp('/h264', 'tcp'),
  'RTSP over UDP': rtsp('/h264', 'udp'),
  'MPEG-TS in RTSP': rtsp('/mp2t', 'tcp'),
  'MPEG-TS over HTTP': http('/live.ts', 'video/mp2t', 'mpegts'),
  RTMP: rtmp,
  'FLV over HTTP': http('/live.flv', 'video/x-flv', 'flv'),
} as const

interface Row {
  readonly noticed_ms: number
  /** After the return of the source; of a file, which is never away, after its end was noticed. */
  readonly again_ms: number
  readonly message: string
}

const runtimeOf = async (service: Service, id: string) => (await service.request('GET', `/svc/pipeline/${id}`)).body.runtime

const measureEnd = async (service: Service, id: string, start: (port: number) => Promise<Source>): Promise<Row> => {
  const port = await freePort()
  let source = await start(port)
  try {
    const reader = await openReader(await createPipeline(service, { id, source: { uri: source.uri } }))
    await reader.until(() => reader.packets.length > 50)
    const runtime = () => runtimeOf(service, id)
    const gone = performance.now()
    await source.stop()
    const lost = await until(runtime, ({ phase }) => phase === 'reconnecting')
    const noticed = performance.now()
    await sleep(Math.max(0, awayMs - (noticed - gone)))
    const seen = reader.packets.length
    source = await start(port)
    const returned = performance.now()
    await reader.until(() => reader.packets.length > seen, 40_000)
    const again = reader.packets[seen]?.arrivedMs ?? Number.NaN
    await reader.close()
    return { noticed_ms: noticed - gone, again_ms: again - returned, message: lost.last_error.message }
  } finally {
    await source.stop()
    await service.request('PUT', `/svc/pipeline/${id}/stop`)
  }
}

/** A recording ends by itself, and is there again at once. */
const measureFile = async (service: Service, id: string, file: string): Promise<Row> => {
  const reader = await openReader(await createPipeline(service, { id, source: { uri: `file://${file}` } }))
  await reader.until(() => reader.packets.length > 10)
  const lost = await until(
    () => runtimeOf(service, id),
    ({ phase }) => phase === 'reconnecting',
    30_000,
  )
  const noticed = performance.now()
  const seen = reader.packets.length
  const last = reader.packets[seen - 1]?.arrivedMs ?? Number.NaN
  await reader.until(() => reader.packets.length > seen, 30_000)
  const again = reader.packets[seen]?.arrivedMs ?? Number.NaN
  await reader.close()
  await service.request('PUT', `/svc/pipeline/${id}/stop`)
  return { noticed_ms: noticed - last, again_ms: again - noticed, message: lost.last_error.message }
}

const report = (name: string, row: Row): void => {
  console.log(JSON.stringify({ source: name, ...row, noticed_ms: Math.round(row.noticed_ms), again_ms: Math.round(row.again_ms) }))
  assert.ok(row.noticed_ms <= TARGET_NOTICED_MS && row.again_ms <= TARGET_AGAIN_MS, `${name} is not within the targets`)
}
try {
  for (const name of Object.values(FILES)) {
    execFileSync('ffmpeg', ['-v', 'error', ...VIDEO.split(' '), '-y', join(folder, name)])
  }
  await withService(
    async (service) => {
      await service.request('PATCH', '/svc/settings', { reconnect: { initial_delay_ms: 500, max_delay_seconds: 1 } })
      for (const [at, [name, file]] of Object.entries(FILES).entries()) {
        report(name, await measureFile(service, `file-${at}`, join(folder, file)))
      }
      for (const [at, [name, start]] of Object.entries(SOURCES).entries()) report(name, await measureEnd(service, `end-${at}`, start))
    },
    { SVC_ALLOW_FILE_SOURCES: '1' },
  )
} finally {
  rmSync(folder, { recursive: true, force: true })
}
