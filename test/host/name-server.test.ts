import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { startService } from '../helpers/process/service.ts'
import { temporaryDataDir } from '../helpers/process/temporary-data-dir.ts'
import { startRtspSource } from '../helpers/rtsp/source.ts'
import { until } from '../helpers/until.ts'

const NAME_SERVER = '127.77.0.1'

/** Starts a program whose name server takes questions and answers none; counts them. Needs root. */
const withoutAnswers = async () => {
  const asked = new Set<string>()
  const server = createSocket('udp4', (question) => asked.add(question.subarray(12).toString('latin1')))
  server.bind(53, NAME_SERVER)
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  const folder = temporaryDataDir()
  const [resolver, hosts] = [join(folder, 'resolv.conf'), join(folder, 'hosts')]
  writeFileSync(resolver, `nameserver ${NAME_SERVER}\n`)
  writeFileSync(hosts, `${readFileSync('/etc/hosts', 'utf8')}\n127.0.0.1 known.camera.test\n`)
  const mounts = 'mount --bind "$0" /etc/resolv.conf; mount --bind "$1" /etc/hosts; shift; exec "$@"'
  return { prefix: ['unshare', '--mount', 'sh', '-ec', mounts, resolver, hosts], asked }
}

it('cameras whose name server hangs keep no other camera away', async () => {
  const source = await startRtspSource()
  onTestFinished(() => source.stop())
  const { prefix, asked } = await withoutAnswers()
  const service = await startService({ prefix })
  const create = (id: string, uri: string) => service.request('POST', '/svc/pipeline', { id, mode: 'simple', source: { uri } })
  const away = Array.from({ length: 6 }, (_, n) => create(`away-${n}`, `rtsp://camera-${n}.example.test/x`))
  // As many as two look-ups ask for: each asks for an IPv4 and an IPv6 address.
  await until(
    () => asked.size,
    (count) => count >= 4,
  )
  const known = await create('known', source.url('/h264').replace('127.0.0.1', 'known.camera.test'))
  expect([known.status, known.body.state]).toEqual([201, 'playing'])
  for (const { status, body } of await Promise.all(away)) expect([status, body.code]).toEqual([504, 'PIPELINE_START_TIMEOUT'])
  await service.stop()
}, 60_000)
