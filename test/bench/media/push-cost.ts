/**
 * CPU time of pushes of one 8 Mbit/s stream beside as many `ffmpeg -c copy` that read the same output, in turns, while others read it
 * over RTSP: what the processes use, and what the engine uses more than without them, as a part of a core per push; and the memory of a
 * process (PSS).
 * push-cost [SCHEMES] [PUSHES] [READERS] [ROUNDS] [SECONDS]
 */
import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { cpuSeconds, quantile, sleep, start, startRtspFeed } from '../../helpers/bench/measure.ts'
import { createPipeline, withService } from '../../helpers/bench/service-run.ts'
import { freePort } from '../../helpers/ports.ts'
import { childrenOf } from '../../helpers/process/processes.ts'
import type { Service } from '../../helpers/process/service.ts'

import { until } from '../../helpers/until.ts'

const [schemes = 'srt,udp,rtmp', pushes = '8', readers = '20', rounds = '3', seconds = '6'] = process.argv.slice(2)
const WAYS = ['none', 'push', 'ffmpeg'] as const

type Way = (typeof WAYS)[number]

const quietly = (file: string, args: readonly string[]) => spawn(file, args, { stdio: 'ignore' })

/** UDP needs no receiver; those of SRT and RTMP cost nobody whose time is measured. */
const receiverArgs = (scheme: string, port: number): readonly string[] | undefined => {
  if (scheme === 'srt') return ['gst-launch-1.0', 'srtsrc', `uri=srt://127.0.0.1:${port}?mode=listener`, '!', 'fakesink']
  if (scheme === 'rtmp') {
    return ['ffmpeg', '-v', 'quiet', '-nostdin', '-listen', '1', '-i', `rtmp://127.0.0.1:${port}/live/key`, '-c', 'copy', '-f', 'null', '-']
  }
  return undefined
}

const addressOf = (scheme: string, port: number): string => `${scheme}://127.0.0.1:${port}${scheme === 'rtmp' ? '/live/key' : ''}`

/** Kilobytes; what several processes share counts in part for each. */
const pss = (pid: number): number => Number(/^Pss:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'))?.[1])

const measure = (scheme: string, way: Way) =>
  withService(async (service) => {
    const feed = await startRtspFeed(await freePort())
    const count = Number(pushes)
    const ports: number[] = []
    while (ports.length < count) ports.push(await freePort())
    const receivers = ports.flatMap((port) => {
      const [file, ...args] = receiverArgs(scheme, port) ?? []
      return file === undefined ? [] : [quietly(file, args)]
    })
    const addresses = ports.map((port) => addressOf(scheme, port))
    await sleep(1000)
    const url = await createPipeline(service, {
      id: 'bench',
      source: { uri: feed.url, latency_ms: 0 },
      push: way === 'push' ? addresses.map((uri) => ({ uri })) : [],
    })
    const load = start(process.execPath, [join(import.meta.dirname, '../../helpers/bench/rtsp-load.ts'), url, readers, 'tcp'])
    await load.until((lines) => lines.length > 0 && JSON.parse(lines.at(-1) ?? '{}').readers === Number(readers))
    const format = scheme === 'rtmp' ? 'flv' : 'mpegts'
    const copy = ['-v', 'error', '-nostdin', '-rtsp_transport', 'tcp', '-i', url, '-map', '0:v', '-c', 'copy', '-f', format]
    const theirs =
      way === 'ffmpeg' ? addresses.map((uri) => quietly('ffmpeg', [...copy, scheme === 'rtmp' ? uri : `${uri}?pkt_size=1316`])) : []
    if (way === 'push')
      await until(
        () => states(service),
        (all) => all.every((state) => state === 'sending'),
        60_000,
      )
    await sleep(5000)
    const engine = service.enginePid()
    const pids = way === 'push' ? pushChildren(engine) : theirs.map(({ pid = 0 }) => pid)
    if (way !== 'none' && pids.length !== count) throw new Error(`${pids.length} processes of ${count}`)
    const sample = () => ({
      engine: cpuSeconds(engine),
      processes: pids.reduce((sum, pid) => sum + cpuSeconds(pid), 0),
      at: performance.now(),
    })
    const sentBefore = await sent(service)
    const before = sample()
    await sleep(Number(seconds) * 1000)
    const after = sample()
    const sentAfter = await sent(service)
    if (way === 'push' && sentAfter.some((bytes, at) => bytes <= (sentBefore[at] ?? 0))) throw new Error('A push sent nothing')
    const memory = quantile(pids.map(pss), 0.5) / 1024
    for (const child of [...theirs, ...receivers]) child.kill('SIGKILL')
    await load.stop()
    await feed.stop()
    const elapsed = (after.at - before.at) / 1000
    return { engine: (after.engine - before.engine) / elapsed, processes: (after.processes - before.processes) / elapsed, memory }
  })

const states = async (service: Service): Promise<readonly string[]> => {
  const { body } = await service.request('GET', '/svc/pipeline/bench')
  return (body.runtime.push as readonly { readonly state: string }[]).map(({ state }) => state)
}

const sent = async (service: Service): Promise<readonly number[]> => {
  const { body } = await service.request('GET', '/svc/pipeline/bench')
  return (body.runtime.push as readonly { readonly bytes: number }[]).map(({ bytes }) => bytes)
}

/** The programs themselves, which a sandbox starts. */
const pushChildren = (engine: number): readonly number[] =>
  childrenOf(engine)
    .filter(({ command }) => /\bgst-launch-1\.0\s*$/.test(command))
    .map(({ pid }) => pid)

for (const scheme of schemes.split(',')) {
  const results: Record<Way, Awaited<ReturnType<typeof measure>>[]> = { none: [], push: [], ffmpeg: [] }
  for (let round = 0; round < Number(rounds); round += 1) for (const way of WAYS) results[way].push(await measure(scheme, way))
  const median = (way: Way, value: 'engine' | 'processes' | 'memory'): number =>
    quantile(
      results[way].map((one) => one[value]),
      0.5,
    )
  const percent = (way: Way) => {
    const engine = ((median(way, 'engine') - median('none', 'engine')) / Number(pushes)) * 100
    const processes = (median(way, 'processes') / Number(pushes)) * 100
    return { process: three(processes), engine: three(engine), both: three(engine + processes) }
  }
  const [push, ffmpeg] = [percent('push'), percent('ffmpeg')]
  console.log(
    JSON.stringify({
      scheme,
      percent_of_a_core: { push, ffmpeg },
      ratio: { process: three(push.process / ffmpeg.process), both: three(push.both / ffmpeg.both) },
      pss_mb: { push: three(median('push', 'memory')), ffmpeg: three(median('ffmpeg', 'memory')) },
    }),
  )
}

function three(value: number): number {
  return Math.round(value * 1000) / 1000
}
