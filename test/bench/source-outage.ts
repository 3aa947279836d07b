/**
 * A source that is killed and comes back on the same port, with readers attached over TCP and UDP and two ffmpeg that decode:
 * who stays connected, how soon there is video again, what the readers see of it. source-outage [SECONDS AWAY …]
 */
import { spawn } from 'node:child_process'
import { sleep } from '../helpers/bench/measure.ts'
import { createPipeline, withService } from '../helpers/bench/service-run.ts'
import { connectReader, openReader, type RtspReader, sequenceGaps, timestampSteps } from '../helpers/rtsp/reader.ts'
import { startRtspSource } from '../helpers/rtsp/source.ts'
import { until } from '../helpers/until.ts'

const outages = process.argv.slice(2).map(Number)

const decode = (url: string, transport: 'tcp' | 'udp') => {
  const progress = { frames: 0, errors: '', exitCode: null as number | null }
  const child = spawn(
    'ffmpeg',
    [
      '-v',
      'error',
      '-rtsp_transport',
      transport,
      '-i',
      url,
      '-map',
      '0:v',
      '-enc_time_base',
      '1:90000',
      '-progress',
      'pipe:1',
      '-f',
      'null',
      '-',
    ],
    { stdio: ['ignore', 'pipe', 'pipe'] },
  )
  child.stdout.on('data', (text: Buffer) => {
    progress.frames = Number([...text.toString().matchAll(/^frame=(\d+)$/gm)].at(-1)?.[1] ?? progress.frames)
  })
  child.stderr.on('data', (text: Buffer) => {
    progress.errors += text.toString()
  })
  child.once('exit', (code) => {
    progress.exitCode = code ?? -1
  })
  return { progress, kill: () => child.kill('SIGKILL') }
}

const back = (reader: RtspReader, since: number) => reader.packets.find(({ arrivedMs }) => arrivedMs > since)?.arrivedMs

for (const seconds of outages.length > 0 ? outages : [1, 10]) {
  let source = await startRtspSource()
  const result = await withService(async (service) => {
    const url = await createPipeline(service, { id: 'outage', source: { uri: source.url('/h264') } })
    const runtime = async () => (await service.request('GET', '/svc/pipeline/outage')).body.runtime
    const readers = await Promise.all((['tcp', 'tcp', 'tcp', 'udp', 'udp'] as const).map((transport) => openReader(url, { transport })))
    const players = [decode(url, 'tcp'), decode(url, 'udp')]
    await until(
      () => players.map(({ progress }) => progress.frames),
      (frames) => frames.every((count) => count > 30),
    )
    await source.stop()
    const gone = performance.now()
    const lost = await until(runtime, ({ phase }) => phase === 'reconnecting')
    const noticedMs = performance.now() - gone
    const late = await connectReader(url)
    const asked = performance.now()
    const answer = late.describe().then(({ status }) => ({ status, after_ms: Math.round(performance.now() - asked) }))
    await sleep(seconds * 1000 - (performance.now() - gone))
    const shown = await runtime()
    const again = performance.now()
    source = await startRtspSource(['--port', String(source.port)])
    const returned = performance.now()
    await Promise.all(readers.map((reader) => reader.until(() => back(reader, again) !== undefined, 60_000).catch(() => {})))
    const framesThen = players.map(({ progress }) => progress.frames)
    await until(
      () => players.map(({ progress }) => progress),
      (now) => now.every(({ frames, exitCode }, at) => exitCode !== null || frames > (framesThen[at] ?? 0) + 60),
    ).catch(() => {})
    const backMs = readers.map((reader) => Math.round((back(reader, again) ?? Number.NaN) - returned))
    const facts = {
      away_s: seconds,
      noticed_ms: Math.round(noticedMs),
      back_after_source_listens_ms: backMs,
      connected: readers.map(({ open }) => open),
      gaps: readers.map(({ packets }) => sequenceGaps(packets)),
      backward_timestamps: readers.map(({ packets }) => timestampSteps(packets).filter((step) => step <= 0).length),
      gap_in_timestamps_s: Math.round(Math.max(...timestampSteps(readers[0]?.packets ?? [])) / 9000) / 10,
      gap_on_the_clock_s: Math.round((Math.max(...readers.map((reader) => back(reader, again) ?? 0)) - gone) / 100) / 10,
      late_reader: await answer,
      players: players.map(({ progress }, at) => ({ ...progress, frames_after: progress.frames - (framesThen[at] ?? 0) })),
      first_loss: lost,
      before_return: shown,
      after: await runtime(),
    }
    for (const player of players) player.kill()
    for (const reader of [...readers, late]) await reader.close()
    return facts
  })
  await source.stop()
  console.log(JSON.stringify(result))
}
