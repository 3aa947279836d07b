/**
 * CPU time of the engine per delivered Gbit of one 8 Mbit/s stream to many viewers over HTTP (/video), beside as many RTSP readers
 * over TCP of the same pipeline, in turns; `direct` are viewers at the engine itself, without the API between. The API's own CPU time is
 * printed too.
 * live-fanout [VIEWERS,…] [ROUNDS] [SECONDS] [PATH]
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { cpuSeconds, quantile, sleep, start, startSource } from '../../helpers/bench/measure.ts'
import { withService } from '../../helpers/bench/service-run.ts'
import { freePort } from '../../helpers/ports.ts'

const [counts = '1,20', rounds = '3', seconds = '6', path = 'video'] = process.argv.slice(2)
const KINDS = ['http', 'rtsp', 'direct'] as const

const measure = async (kind: (typeof KINDS)[number], viewers: number) =>
  withService(async (service) => {
    const feed = await freePort()
    const source = await startSource(feed)
    const caps = 'application/x-rtp,media=video,clock-rate=90000,encoding-name=H264,payload=96'
    const { status, body } = await service.request('POST', '/svc/pipeline', {
      id: 'bench',
      mode: 'advanced',
      raw_pipeline: `udpsrc port=${feed} buffer-size=4000000 caps=${caps} ! rtph264depay ! h264parse ! rtph264pay name=pay0 pt=96 config-interval=-1`,
    })
    if (status !== 201) throw new Error(JSON.stringify(body))
    const loader = join(import.meta.dirname, `../helpers/bench/${kind === 'rtsp' ? 'rtsp' : 'viewer'}-load.ts`)
    const { url: engineUrl, token } = JSON.parse(readFileSync(join(service.dataDir, 'engine.json'), 'utf8')) as {
      url: string
      token: string
    }
    const urls = {
      rtsp: body.output.uri.replace('0.0.0.0', '127.0.0.1'),
      http: `${service.url}/svc/pipeline/bench/${path}`,
      direct: `${engineUrl}/pipelines/bench/${path}`,
    }
    const load = start(process.execPath, [loader, urls[kind], String(viewers), ...(kind === 'direct' ? [`Bearer ${token}`] : [])])
    const last = () => JSON.parse(load.lines.at(-1) ?? '{}') as { readers: number; bytes: number }
    await load.until((lines) => lines.length > 0 && last().readers === viewers)
    await sleep(3000)
    const engine = service.enginePid()
    const sample = () => ({ engine: cpuSeconds(engine), api: cpuSeconds(service.pid), bytes: last().bytes })
    const before = sample()
    await sleep(Number(seconds) * 1000)
    const after = sample()
    await load.stop()
    await source.stop()
    const gbit = ((after.bytes - before.bytes) * 8) / 1e9
    return { engine: (after.engine - before.engine) / gbit, api: (after.api - before.api) / gbit }
  })

for (const viewers of counts.split(',').map(Number)) {
  const results = { http: [] as number[], rtsp: [] as number[], direct: [] as number[] }
  const api: number[] = []
  for (let round = 0; round < Number(rounds); round += 1) {
    for (const kind of KINDS) {
      const cost = await measure(kind, viewers)
      results[kind].push(cost.engine)
      if (kind === 'http') api.push(cost.api)
    }
  }
  const three = (value: number): number => Math.round(value * 1000) / 1000
  const median = (kind: (typeof KINDS)[number]): number => quantile(results[kind], 0.5)
  console.log(
    JSON.stringify({
      viewers,
      engine_cpu_s_per_gbit: { http: three(median('http')), rtsp: three(median('rtsp')), direct: three(median('direct')) },
      ratio: { http: three(median('http') / median('rtsp')), direct: three(median('direct') / median('rtsp')) },
      api_cpu_s_per_gbit: three(quantile(api, 0.5)),
    }),
  )
}
