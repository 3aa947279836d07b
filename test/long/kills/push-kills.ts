/**
 * The receiver of a push is killed again and again and is back after a while: how long it takes until it has video again, while a
 * reader must not miss a packet and the child of the source must stay the same.
 * push-kills [SCHEMES] [KILLS] [AWAY_MS]
 */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { quantile, sleep } from '../../helpers/bench/measure.ts'
import { createPipeline, withService } from '../../helpers/bench/service-run.ts'
import { startMediaServer } from '../../helpers/media/media-server.ts'
import { freePort } from '../../helpers/ports.ts'
import { childrenOf } from '../../helpers/process/processes.ts'

import { openReader, sequenceGaps } from '../../helpers/rtsp/reader.ts'
import { until } from '../../helpers/until.ts'

const [schemes = 'srt,rtmp,rtsp', kills = '20', away = '1000'] = process.argv.slice(2)

/** The first packet of the tables of MPEG-TS. */
const PACKET = Buffer.from([0x47, 0x40, 0x00])

interface Receiver {
  /** Resolves when it has video. */
  hasVideo(): Promise<unknown>
  /** kill -9. */
  kill(): Promise<unknown>
}

/** A program that writes what it receives to its stdout. */
const program = (file: string, line: string, isVideo: (bytes: Buffer) => boolean): Receiver => {
  const child = spawn(file, line.split(' '), { stdio: ['ignore', 'pipe', 'ignore'] })
  let got = false
  child.stdout.on('data', (bytes: Buffer) => {
    got ||= isVideo(bytes)
  })
  return {
    hasVideo: () =>
      until(
        () => got,
        (has) => has,
        60_000,
      ),
    kill: () => {
      child.kill('SIGKILL')
      return once(child, 'exit')
    },
  }
}

const RECEIVERS: Readonly<Record<string, { readonly path: string; readonly receive: (port: number) => Receiver | Promise<Receiver> }>> = {
  srt: {
    path: '',
    // gst-launch-1.0 says a few words first.
    receive: (port) =>
      program('gst-launch-1.0', `srtsrc uri=srt://127.0.0.1:${port}?mode=listener ! fdsink fd=1`, (bytes) => bytes.includes(PACKET)),
  },
  rtmp: {
    path: '/live/key',
    receive: (port) =>
      program(
        'ffmpeg',
        `-v quiet -nostdin -analyzeduration 100000 -listen 1 -i rtmp://127.0.0.1:${port}/live/key -c copy -f flv -`,
        () => true,
      ),
  },
  rtsp: {
    path: '/in/key',
    receive: async (port) => {
      const server = await startMediaServer({ port })
      return { hasVideo: () => server.line(({ available }) => available === 'key'), kill: server.stop }
    },
  },
}

const measure = (scheme: string) =>
  withService(async (service) => {
    const known = RECEIVERS[scheme]
    if (known === undefined) throw new Error(`There is no receiver for ${scheme}`)
    const { path, receive } = known
    const port = await freePort()
    let receiver = await receive(port)
    const url = await createPipeline(service, {
      id: 'bench',
      source: { uri: 'test://ball?width=320&height=240' },
      push: [{ uri: `${scheme}://127.0.0.1:${port}${path}` }],
    })
    const push = async () => (await service.request('GET', '/svc/pipeline/bench')).body.runtime.push[0]
    const sources = () => childrenOf(service.enginePid()).flatMap(({ pid, command }) => (command.includes('fd=3') ? [pid] : []))
    await until(push, ({ state }) => state === 'sending')
    const before = sources()
    const reader = await openReader(url)
    const tookMs: number[] = []
    for (let kill = 0; kill < Number(kills); kill += 1) {
      await sleep(1000 + Math.random() * 2000)
      await receiver.kill()
      await sleep(Number(away))
      receiver = await receive(port)
      const back = performance.now()
      await receiver.hasVideo()
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
    await receiver.kill()
    return result
  })

for (const scheme of schemes.split(',')) {
  const result = await measure(scheme)
  console.log(JSON.stringify(result))
  assert.deepEqual([result.gaps_of_the_reader, result.same_source], [0, true])
}
