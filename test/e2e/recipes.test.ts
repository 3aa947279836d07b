import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it, onTestFinished } from 'vitest'
import { flightPacket } from '../../engine/klv/st0601/synthetic-flight.ts'
import { parseCot } from '../fixtures/klv/cot.ts'
import { readDocument, section, shellCommands } from '../helpers/documents.ts'
import { receiveCotByUdp } from '../helpers/klv/cot-receivers.ts'
import { startTsKlvSender } from '../helpers/klv/ts-sender.ts'
import { freeUdpPort } from '../helpers/media/play-launch.ts'
import { ffprobe } from '../helpers/media/players.ts'
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
