import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { type MediaServer, openMediaServer } from '../../helpers/media/media-server.ts'
import { pushesOf, untilAllSend } from '../../helpers/media/pushes.ts'
import { decodeFrames, expectDecoded } from '../../helpers/media/receivers.ts'
import { type RtmpMediaServer, startRtmpMediaServer } from '../../helpers/media/rtmp-media-server.ts'
import { freeUdpPort } from '../../helpers/ports.ts'
import { childrenOf, isAlive } from '../../helpers/process/processes.ts'
import { type Service, startService } from '../../helpers/process/service.ts'
import type { RtspSource } from '../../helpers/rtsp/source.ts'
import { createPipeline, openSource } from '../../helpers/service/pipelines.ts'
import { until } from '../../helpers/until.ts'

/** How long the source is away, milliseconds. */
const AWAY_MS = 3000
const SOURCE = ['--width', '320', '--height', '180', '--gop-seconds', '0.5']

interface Scene {
  readonly source: RtspSource
  readonly rtmp: RtmpMediaServer
  readonly rtsp: MediaServer
  readonly service: Service
}

/** Open connections to a TCP port of this host, as their clients see them (proc(5), state 01 of /proc/net/tcp). */
const connectionsTo = (port: number): number => {
  const remote = new RegExp(`^ *\\d+: \\S+ \\S+:${port.toString(16).toUpperCase().padStart(4, '0')} 01 `)
  return readFileSync('/proc/net/tcp', 'utf8')
    .split('\n')
    .filter((line) => remote.test(line)).length
}

const begin = async (): Promise<Scene> => {
  const [source, rtmp, rtsp, service] = await Promise.all([
    openSource(...SOURCE),
    startRtmpMediaServer(),
    openMediaServer(),
    startService(),
  ])
  await createPipeline(service, 'cam', {
    source: { uri: source.url('/h264'), latency_ms: 0 },
    push: [
      { uri: `rtmp://127.0.0.1:${rtmp.port}/live/key` },
      { uri: rtsp.publishUrl('cam') },
      { uri: `udp://127.0.0.1:${await freeUdpPort()}` },
    ],
  })
  await untilAllSend(service, 'cam')
  return { source, rtmp, rtsp, service }
}

/** Both servers have video now, and the pipeline has one connection to its source. */
const expectVideo = async ({ source, rtmp, rtsp }: Scene): Promise<void> => {
  await Promise.all([
    expectDecoded('RTMP', decodeFrames(['-i', `rtmp://127.0.0.1:${rtmp.port}/live/key`], 60), 60),
    expectDecoded('RTSP', decodeFrames(['-rtsp_transport', 'tcp', '-i', `rtsp://127.0.0.1:${rtsp.port}/cam`], 60), 60),
  ])
  expect(connectionsTo(source.port)).toBe(1)
}

const pids = (service: Service): readonly number[] => childrenOf(service.enginePid()).map(({ pid }) => pid)

it('pushes go on when the source was away for seconds, and are not interrupted when another API process takes over', async () => {
  const scene = await begin()
  const { source, service } = scene
  const children = pids(service)
  await source.stop()
  await sleep(AWAY_MS)
  const during = await pushesOf(service, 'cam')
  await openSource('--port', String(source.port), ...SOURCE)
  const back = await until(
    () => pushesOf(service, 'cam'),
    (all) => all.every(({ state, bytes }, at) => state === 'sending' && bytes > (during[at]?.bytes ?? 0) + 10_000),
  )
  const next = await startService({ dataDir: service.dataDir, args: ['--takeover'] })
  await expectVideo(scene)
  const after = await pushesOf(next, 'cam')
  expect(after.map(({ since, last_error }) => [since, last_error])).toEqual(back.map(({ since }) => [since, null]))
  expect(pids(next)).toEqual(children)
}, 60_000)

it('pushes come back when the engine was killed, without an orphan or a second connection to the source', async () => {
  const scene = await begin()
  const { service } = scene
  const [engine, children] = [service.enginePid(), pids(service)]
  process.kill(engine, 'SIGKILL')
  await until(
    () => children.filter(isAlive),
    (left) => left.length === 0,
  )
  await until(
    () => service.enginePid(),
    (pid) => pid !== engine && isAlive(pid),
  )
  await untilAllSend(service, 'cam')
  await expectVideo(scene)
  expect(pids(service)).toHaveLength(children.length)
}, 60_000)
