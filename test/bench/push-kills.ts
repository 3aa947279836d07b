/**
 * The receiver of a push is killed again and again and is back after a while: how long it takes until it has video again, while a
 * reader must not miss a packet and the child of the source must stay the same.
 * push-kills [SCHEMES] [KILLS] [AWAY_MS]
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { quantile, sleep } from '../helpers/bench/measure.ts'
import { createPipeline, withService } from '../helpers/bench/service-run.ts'
import { childrenOf } from '../helpers/process/processes.ts'
import { freePort } from '../helpers/rtsp/media.ts'
import { openReader, sequenceGaps } from '../helpers/rtsp/reader.ts'
import { until } from '../helpers/until.ts'

const [schemes = 'srt,rtmp', kills = '20', away = '1000'] = process.argv.slice(2)

/** The first packet of the tables of MPEG-TS. */
const PACKET = Buffer.from([0x47, 0x40, 0x00])

const receive = (scheme: string, port: number) => {
  const line =
    scheme === 'srt'
      ? `srtsrc uri=srt://127.0.0.1:${port}?mode=listener ! fdsink fd=1`.split(' ')
      : [
          '-v',
          'quiet',
          '-nostdin',
          '-analyzeduration',
          '100000',
          '-listen',
          '1',
          '-i',
          `rtmp://127.0.0.1:${port}/live/key`,
          '-c',
          'copy',
          '-f',
          'flv',
          '-',
        ]
  const child = spawn(scheme === 'srt' ? 'gst-launch-1.0' : 'ffmpeg', line, { stdio: ['ignore', 'pipe', 'ignore'] })
  let got = false
  child.stdout.on('data', (bytes: Buffer) => {
    // gst-launch-1.0 says a few words first.
    got ||= scheme === 'rtmp' || bytes.includes(PACKET)
  })
  return { child, hasVideo: () => got }
}

const measure = (scheme: string) =>
  withService(async (service) => {
    const port = await freePort()
    let receiver = receive(scheme, port)
    const url = await createPipeline(service, {
      id: 'bench',
      source: { uri: 'test://ball?width=320&height=240' },
      push: [{ uri: `${scheme}://127.0.0.1:${port}${scheme === 'rtmp' ? '/live/key' : ''}` }],
    })
    const push = async () => (await service.request('GET', '/svc/pipeline/bench')).body.runtime.push[0]
    const sources = () => childrenOf(service.enginePid()).flatMap(({ pid, command }) => (command.includes('fd=3') ? [pid] : []))
    await until(push, ({ state }) => state === 'sending')
    const before = sources()
    const reader = await openReader(url)
    const tookMs: number[] = []
    for (let kill = 0; kill < Number(kills); kill += 1) {
      await sleep(1000 + Math.random() * 2000)
      receiver.child.kill('SIGKILL')
      await once(receiver.child, 'exit')
      await sleep(Number(away))
      receiver = receive(scheme, port)
      const back = performance.now()
      await until(receiver.hasVideo, (has) => has, 60_000)
      tookMs.push(performance.now() - back)
      await until(push, ({ state }) => state === 'sending')
    }
    const result = {
      scheme,
      kills: tookMs.length,
      back_ms: { median: Math.round(quantile(tookMs, 0.5)), most: Math.round(Math.max(...tookMs)) },
      gaps_of_the_reader: sequenceGaps(reader.packets).length,
      same_source: JSON.stringify(sources()) === JSON.stringify(before),
    }
    reader.close()
    receiver.child.kill('SIGKILL')
    return result
  })

for (const scheme of schemes.split(',')) console.log(JSON.stringify(await measure(scheme)))
