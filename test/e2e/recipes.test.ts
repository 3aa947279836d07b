import { execFile } from 'node:child_process'
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it, onTestFinished } from 'vitest'
import { flightPacket } from '../../engine/klv/st0601/synthetic-flight.ts'
import { parseCot } from '../fixtures/klv/cot.ts'
import { readDocument, section, shellCommands } from '../helpers/documents.ts'
import { receiveCotByUdp } from '../helpers/klv/cot-receivers.ts'
import { startTsKlvSender } from '../helpers/klv/ts-sender.ts'
import { publishWithFfmpeg, startMediaServer } from '../helpers/media/media-server.ts'
import { ffprobe } from '../helpers/media/players.ts'
import { decodeFrames, expectDecoded, saveStream } from '../helpers/media/receivers.ts'
import { freePort, freeUdpPort } from '../helpers/ports.ts'
import { startService } from '../helpers/process/service.ts'
import { temporaryDataDir } from '../helpers/process/temporary-data-dir.ts'
import { until } from '../helpers/until.ts'

const run = promisify(execFile)

it('a drone reaches a ground station and TAK with the commands of the README', async () => {
  const commands = shellCommands(section(readDocument('README.md'), '### From a drone to a ground station and TAK'))
  const drone = await startTsKlvSender({ synchronous: false, klv: () => flightPacket(Date.now()) })
  const tak = await receiveCotByUdp('udp4', '0.0.0.0')
  tak.join('239.2.3.1')
  onTestFinished(async () => {
    tak.stop()
    await drone.stop()
  })
  const service = await startService()
  const folder = temporaryDataDir()
  const [source, output] = [new URL(drone.uri.replace('udp:', 'http:')).port, await freeUdpPort()]
  const outputs: string[] = []
  for (const command of commands) {
    const adapted = command
      .replaceAll('http://127.0.0.1:8080', service.url)
      .replaceAll(':5600', `:${source}`)
      .replaceAll(':8554', `:${output}`)
      .replaceAll(':6969', `:${tak.port}`)
    outputs.push((await run('sh', ['-c', adapted], { cwd: folder })).stdout)
  }
  const [created = '', settings = '', , event = '', footprint = '', ...more] = outputs
  expect(more).toEqual([])
  expect(JSON.parse(created)).toMatchObject({ id: 'drone', state: 'playing' })
  expect(JSON.parse(settings)).toMatchObject({ cot: { uri: `udp://239.2.3.1:${tak.port}` } })
  expect(await ffprobe(join(folder, 'drone.ts'))).toMatchObject([{ codec_name: 'h264' }])
  expect(parseCot(event)).toMatchObject({ event: { uid: 'drone' }, video: { url: `rtsp://127.0.0.1:${output}/drone` } })
  expect(JSON.parse(footprint)).toMatchObject({ geometry: { type: 'Polygon' }, properties: { method: 'field_of_view' } })

  const [first] = await until(tak.events, (events) => events.length >= 2)
  expect(first?.event.uid).toBe('drone')
  // What a TAK client opens when its user wants to see the video.
  expect(await ffprobe(first?.video?.url ?? '')).toMatchObject([{ codec_name: 'h264' }, { codec_type: 'data' }])
  await service.stop()
}, 60_000)

/** What a recipe of the README runs. */
const commandsOf = (heading: string): readonly string[] => shellCommands(section(readDocument('README.md'), heading))

/** Runs the commands one after the other in an empty folder, each as soon as what it reads is there. */
const follow = async (commands: readonly string[], adapt: (command: string) => string): Promise<string> => {
  const folder = temporaryDataDir()
  for (const command of commands) await run('sh', ['-c', adapt(command)], { cwd: folder })
  return folder
}

it('several cameras are read through one port with the commands of the README', async () => {
  const [start = '', ...commands] = commandsOf('### Several cameras through one port of a firewall')
  const [, name = '', value = ''] = /^(SVC_\w+)=(\d+) npm start$/.exec(start) ?? []
  const port = await freePort()
  const service = await startService({ env: { [name]: String(port) } })
  const folder = await follow(commands, (command) =>
    command.replaceAll('http://127.0.0.1:8080', service.url).replaceAll(`:${value}/`, `:${port}/`),
  )
  for (const file of ['gate.ts', 'yard.ts']) expect(await ffprobe(join(folder, file))).toMatchObject([{ codec_name: 'h264' }])

  // curl ends with an exit code of its own when its time is over.
  const save = commandsOf('### A file of what is seen now').map((command) => `${command.replace('--max-time 10', '--max-time 3')} || true`)
  const saved = await follow(save, (command) => command.replaceAll('http://127.0.0.1:8080', service.url))
  expect(await ffprobe(join(saved, 'gate.ts'))).toMatchObject([{ codec_name: 'h264', width: 640 }])
  await service.stop()
}, 60_000)

it('a stream of a media server is re-encoded and published there again with the commands of the README', async () => {
  const server = await startMediaServer()
  const publisher = publishWithFfmpeg(server.publishUrl('cam'))
  onTestFinished(async () => {
    await publisher.kill()
    await server.stop()
  })
  await server.line(({ available }) => available === 'cam')
  const service = await startService()
  const [create = '', ...read] = commandsOf('### MediaMTX in front and behind').map((command) =>
    command
      .replaceAll('http://127.0.0.1:8080', service.url)
      // The server of the tests takes streams below /in.
      .replace('"push":[{"uri":"rtsp://127.0.0.1:8554/', '"push":[{"uri":"rtsp://127.0.0.1:8554/in/')
      .replaceAll(':8554', `:${server.port}`),
  )
  const { stdout } = await run('sh', ['-c', create])
  expect(JSON.parse(stdout)).toMatchObject({ id: 'small', state: 'playing' })
  await server.line(({ available }) => available === 'out/small')
  const folder = await follow(read, (command) => command)
  expect(await ffprobe(join(folder, 'small.ts'))).toMatchObject([{ codec_name: 'h264', width: 320, height: 180 }])
  await service.stop()
}, 60_000)

it('the pushes of the README reach their receivers', async () => {
  const [srt, udp] = [await freeUdpPort(), await freeUdpPort()]
  const camera = decodeFrames(['-i', `srt://127.0.0.1:${srt}?mode=listener&passphrase=correct-horse-battery`], 30)
  const group = join(temporaryDataDir(), 'group.ts')
  const drone = saveStream(`udpsrc address=239.77.1.1 port=${udp} multicast-iface=lo buffer-size=4194304`, group)
  const service = await startService()
  const outputs: unknown[] = []
  for (const command of commandsOf('## Push')) {
    const adapted = command
      .replaceAll('http://127.0.0.1:8080', service.url)
      .replaceAll(':9000', `:${srt}`)
      // There may be no other network here.
      .replace(':5600?ttl=4', `:${udp}?ttl=4&iface=lo`)
    outputs.push(JSON.parse((await run('sh', ['-c', adapted])).stdout))
  }
  const [dock, glider, shown] = outputs
  expect([dock, glider]).toMatchObject([
    { id: 'dock', state: 'playing' },
    { id: 'glider', state: 'playing' },
  ])
  expect(shown).toMatchObject({ id: 'dock', runtime: { push: [{ uri: `srt://127.0.0.1:${srt}?passphrase=***` }] } })
  await expectDecoded('SRT', camera, 30)
  await until(
    () => statSync(group, { throwIfNoEntry: false })?.size ?? 0,
    (bytes) => bytes > 500_000,
  )
  await drone.kill()
  expect(await ffprobe(group)).toMatchObject([{ codec_name: 'h264' }, { codec_name: 'klv' }])
  await service.stop()
}, 60_000)
