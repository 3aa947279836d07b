/**
 * What pictures cost, and whom they disturb.
 *   screenshots cost [SECONDS]    CPU per screenshot of 1080p30 every 10 s and per snapshot, beside a gst-launch of each key frame and a
 *                                 branch that decodes all the time
 *   screenshots reader [SECONDS]  a reader's packets without pictures and with one every second
 *   screenshots crowd [CLIENTS]   snapshots asked for at once
 *   screenshots files [COUNT]     the store with so many files
 */
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { formatFileName } from '../../../engine/screenshots/files/file-name.ts'
import { FileStore } from '../../../engine/screenshots/files/file-store.ts'
import { cpuSeconds, encodedStream, quantile, sleep, sourceLine, start } from '../../helpers/bench/measure.ts'
import { createPipeline, withService } from '../../helpers/bench/service-run.ts'
import { ffmpegDecode } from '../../helpers/media/players.ts'
import { childrenOf, privateBytes, residentBytes } from '../../helpers/process/processes.ts'
import type { Service } from '../../helpers/process/service.ts'
import { silentLog } from '../../helpers/rtsp/media.ts'
import { openReader, type RecordedPacket } from '../../helpers/rtsp/reader.ts'
import { until } from '../../helpers/until.ts'

const [, , part = 'cost', amount] = process.argv
const PORTS = { service: 21_301, branch: 21_302 } as const

/** CPU seconds of the children that a process has outlived: its decoders. */
const endedChildrenSeconds = (pid: number): number => {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[13]) + Number(fields[14])) / 100
}

/** The same live stream to both ports. */
const startSource = async () => {
  const clients = Object.values(PORTS).map((port) => `127.0.0.1:${port}`)
  const line = `filesrc location=${encodedStream()} ! tsdemux ! h264parse ! rtph264pay pt=96 config-interval=-1 ! multiudpsink clients=${clients.join(',')} buffer-size=4000000`
  const source = start('gst-launch-1.0', line.split(' '))
  await source.until((lines) => lines.some((text) => text.includes('PLAYING')))
  return source
}

const withStream = (work: (service: Service, url: string) => Promise<unknown>): Promise<unknown> =>
  withService(async (service) => {
    const source = await startSource()
    try {
      return await work(service, await createPipeline(service, { id: 'bench', mode: 'advanced', raw_pipeline: sourceLine(PORTS.service) }))
    } finally {
      await source.stop()
    }
  })

const screenshots = (service: Service, interval_seconds: number) =>
  service.request('PUT', '/svc/pipeline/bench/screenshots/start', { interval_seconds })
const countFiles = async (service: Service): Promise<number> => (await service.request('GET', '/svc/files/screenshots')).body.length
const round = (value: number, digits = 3): number => Number(value.toFixed(digits))

/** CPU seconds of a gst-launch that makes a JPEG of a key frame in a file, as one would write it by hand. */
const bareKeyFrame = (folder: string): number => {
  const file = join(folder, 'key.h264')
  execFileSync('ffmpeg', ['-v', 'error', '-y', '-i', encodedStream(), '-frames:v', '1', '-c', 'copy', '-f', 'h264', file])
  const line = `filesrc location=${file} ! h264parse ! avdec_h264 ! videoconvert ! jpegenc ! filesink location=${join(folder, 'key.jpeg')}`
  const runs = Array.from({ length: 9 }, () => {
    const before = endedChildrenSeconds(process.pid)
    execFileSync('gst-launch-1.0', ['-q', ...line.split(' ')])
    return endedChildrenSeconds(process.pid) - before
  })
  return quantile(runs, 0.5)
}

const cost = (seconds: number) =>
  withStream(async (service) => {
    const line = `udpsrc port=${PORTS.branch} buffer-size=4000000 caps=application/x-rtp,media=video,clock-rate=90000,encoding-name=H264,payload=96 ! rtph264depay ! h264parse ! avdec_h264 ! videorate drop-only=true ! video/x-raw,framerate=1/10 ! videoconvert ! jpegenc ! fakesink`
    const branch = start('gst-launch-1.0', line.split(' '))
    await branch.until((lines) => lines.some((text) => text.includes('PLAYING')))
    const engine = service.enginePid()
    const before = {
      branch: cpuSeconds(branch.pid),
      decoders: endedChildrenSeconds(engine),
      children: childrenOf(engine).map(({ pid }) => pid),
    }
    await screenshots(service, 10)
    await sleep(seconds * 1000)
    const pictures = await countFiles(service)
    const perBranchPicture = ((cpuSeconds(branch.pid) - before.branch) / seconds) * 10
    await branch.stop()
    // The kept decoder and its sandbox, from their start: of what ends by a signal inside of a sandbox, nobody counts the time.
    const kept = childrenOf(engine).filter(({ pid }) => !before.children.includes(pid))
    const keptSeconds = kept.reduce((sum, { pid }) => sum + cpuSeconds(pid), 0)
    const keptBytes = Math.max(0, ...kept.map(({ pid }) => privateBytes(pid)))
    const perScreenshot = (keptSeconds + endedChildrenSeconds(engine) - before.decoders) / pictures
    await service.request('PUT', '/svc/pipeline/bench/screenshots/stop')
    const snapshots = 5
    const atSnapshots = endedChildrenSeconds(engine)
    const waits: number[] = []
    for (let made = 0; made < snapshots; made += 1) {
      await sleep(1300)
      const began = performance.now()
      await service.request('GET', '/svc/pipeline/bench/snapshot')
      waits.push(performance.now() - began)
    }
    const folder = mkdtempSync(join(tmpdir(), 'bench-key-'))
    const bare = bareKeyFrame(folder)
    rmSync(folder, { recursive: true })
    return {
      pictures,
      cpu_s_per_screenshot: round(perScreenshot),
      cpu_s_of_bare_gst_launch: round(bare),
      ratio: round(perScreenshot / bare),
      cpu_s_per_picture_of_branch: round(perBranchPicture),
      part: round(perScreenshot / perBranchPicture),
      cpu_s_per_snapshot: round((endedChildrenSeconds(engine) - atSnapshots) / snapshots),
      kept_decoder_mb: round(keptBytes / 1e6, 1),
      snapshot_ms: round(quantile(waits, 0.5), 0),
    }
  })

/** How late each access unit came against its RTP time, milliseconds over the promptest. */
const lateness = (packets: readonly RecordedPacket[]): readonly number[] => {
  const ends = packets.filter(({ marker }) => marker)
  const first = ends[0]?.timestamp ?? 0
  const late = ends.map(({ arrivedMs, timestamp }) => arrivedMs - ((timestamp - first) | 0) / 90)
  const least = Math.min(...late)
  return late.map((value) => value - least)
}

const reader = (seconds: number) =>
  withStream(async (service, url) => {
    const watch = async () => {
      const client = await openReader(url)
      await sleep(1000)
      const from = client.packets.length
      const [{ errors }] = await Promise.all([ffmpegDecode(url, (seconds - 2) * 30), sleep(seconds * 1000)])
      const packets = client.packets.slice(from)
      await client.close()
      const gaps = packets.filter(({ sequence }, at) => at > 0 && sequence !== (((packets[at - 1]?.sequence ?? 0) + 1) & 0xffff)).length
      const late = lateness(packets)
      return {
        packets: packets.length,
        gaps,
        decode_errors: errors.length,
        late_ms: { median: round(quantile(late, 0.5), 2), p95: round(quantile(late, 0.95), 2), p99: round(quantile(late, 0.99), 2) },
      }
    }
    const without = await watch()
    await screenshots(service, 1)
    const pictures = await watch()
    return { without, with: pictures, files: await countFiles(service) }
  })

const crowd = (clients: number) =>
  withStream(async (service) => {
    const engine = service.enginePid()
    await until(
      () => service.request('GET', '/svc/pipeline/bench'),
      ({ body }) => body.runtime.frames > 60,
    )
    const before = { cpu: endedChildrenSeconds(engine), engine: residentBytes(engine), api: residentBytes(service.pid) }
    const began = performance.now()
    const answers = await Promise.all(Array.from({ length: clients }, () => service.request('GET', '/svc/pipeline/bench/snapshot')))
    return {
      answered: answers.filter(({ status }) => status === 200).length,
      distinct: new Set(answers.map(({ headers }) => headers.get('etag'))).size,
      ms: round(performance.now() - began, 0),
      decoder_cpu_s: round(endedChildrenSeconds(engine) - before.cpu),
      picture_kb: round(Number(answers[0]?.headers.get('content-length') ?? 0) / 1000, 0),
      engine_grew_mb: round((residentBytes(engine) - before.engine) / 1e6, 1),
      api_grew_mb: round((residentBytes(service.pid) - before.api) / 1e6, 1),
    }
  })

const files = async (count: number) => {
  const folder = join(mkdtempSync(join(tmpdir(), 'bench-files-')), 'screenshots')
  try {
    const jpeg = execFileSync('gst-launch-1.0', [
      '-q',
      ...'videotestsrc num-buffers=1 ! video/x-raw,width=64,height=48 ! jpegenc ! fdsink fd=1'.split(' '),
    ])
    mkdirSync(folder)
    const base = Date.parse('2026-01-01T00:00:00.000Z')
    for (let at = 0; at < count; at += 1)
      writeFileSync(join(folder, formatFileName({ pipelineId: `cam-${at % 10}`, createdAt: base + at * 1000 })), jpeg)
    const store = new FileStore({ folder, retention: () => ({ max_files: 1e6, max_megabytes: 1e6 }), log: silentLog })
    const delay = monitorEventLoopDelay({ resolution: 1 })
    delay.enable()
    const timed = async (work: () => Promise<unknown>): Promise<number> => {
      const began = performance.now()
      await work()
      return round(performance.now() - began, 1)
    }
    const open_ms = await timed(() => store.open())
    const blocked_ms = round(delay.max / 1e6, 0)
    const page = () => store.list({ limit: 1000, before: base + (count / 2) * 1000 })
    return {
      count,
      open_ms,
      blocked_ms,
      page_of_1000_first_ms: await timed(page),
      page_of_1000_again_ms: await timed(page),
      page_of_pipeline_ms: await timed(() => store.list({ limit: 1000, pipelineId: 'cam-3' })),
      delete_of_pipeline_ms: await timed(() => store.removeOf('cam-3')),
      heap_mb: round(process.memoryUsage().heapUsed / 1e6, 0),
    }
  } finally {
    rmSync(join(folder, '..'), { recursive: true })
  }
}

const parts: Readonly<Record<string, () => Promise<unknown>>> = {
  cost: () => cost(Number(amount ?? 40)),
  reader: () => reader(Number(amount ?? 15)),
  crowd: () => crowd(Number(amount ?? 200)),
  files: () => files(Number(amount ?? 100_000)),
}
console.log(JSON.stringify(await parts[part]?.()))
