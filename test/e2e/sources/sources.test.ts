import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it, onTestFinished } from 'vitest'
import { ffmpegDecode } from '../../helpers/media/players.ts'
import { freeUdpPort } from '../../helpers/ports.ts'
import { startService } from '../../helpers/process/service.ts'
import { temporaryDataDir } from '../../helpers/process/temporary-data-dir.ts'
import { makeCertificate } from '../../helpers/rtsp/certificate.ts'
import { createPipeline, openSource, viewOf } from '../../helpers/service/pipelines.ts'
import { shareService } from '../../helpers/service/share-service.ts'

const run = promisify(execFile)
const service = shareService({ SVC_ALLOW_FILE_SOURCES: '1' })
const TEST_VIDEO = ['-f', 'lavfi', '-i', 'testsrc2=size=320x240:rate=25']
const H264 = ['-c:v', 'libx264', '-preset', 'ultrafast', '-tune', 'zerolatency', '-g', '25', '-pix_fmt', 'yuv420p']
const SMALL = { codec: 'h264', width: 160, height: 120, quality: 1, bitrate: 500 }

/** Sends with ffmpeg until the test is over. */
const send = (args: readonly string[]): void => {
  const child = spawn('ffmpeg', ['-v', 'error', '-re', ...TEST_VIDEO, ...H264, '-f', 'mpegts', ...args], { stdio: 'ignore' })
  const exited = once(child, 'exit')
  onTestFinished(async () => {
    child.kill('SIGKILL')
    await exited
  })
}

/** Creates a pipeline and lets ffmpeg decode its output without an error. */
const plays = async (id: string, more: Record<string, unknown>, host = service): Promise<void> => {
  const url = await createPipeline(host, id, more)
  expect({ id, ...(await ffmpegDecode(url, 20)) }).toEqual({ id, frames: 20, errors: [] })
}

it.each([
  ['passed through', null],
  ['re-encoded', SMALL],
])('RTSP sources with passwords play %s, and their passwords show nowhere', async (_how, encoding) => {
  const certificate = makeCertificate()
  onTestFinished(() => certificate.remove())
  const [basic, digest, udp, tcp, tls] = await Promise.all([
    openSource('--auth', 'basic'),
    openSource('--auth', 'digest'),
    openSource('--auth', 'basic', '--transport', 'udp'),
    openSource('--auth', 'basic', '--transport', 'tcp'),
    openSource('--auth', 'basic', '--tls', certificate.cert, certificate.key),
  ])
  const own = await startService()
  const uriOf = (source: typeof basic) => source.url('/h264', 'user:secret')
  const rows = { basic: uriOf(basic), digest: uriOf(digest), udp: uriOf(udp), tcp: uriOf(tcp).replace(/^rtsp/, 'rtspt'), tls: uriOf(tls) }
  await Promise.all(Object.entries(rows).map(([id, uri]) => plays(id, { source: { uri, latency_ms: 100 }, encoding }, own)))
  // TCP was refused, and UDP plays: that is no error.
  expect((await viewOf(own, 'udp')).runtime).toMatchObject({ phase: 'playing', last_error: null })
  for (const source of [basic, digest]) {
    const uri = source.url('/h264', 'user:wrongpass')
    const refused = await own.request('POST', '/svc/pipeline', { id: 'refused', mode: 'simple', source: { uri } })
    expect(refused).toMatchObject({ status: 500, body: { code: 'ENGINE_ERROR', details: { reason: 'unauthorized' } } })
    expect(JSON.stringify(refused.body) + own.log.join('')).not.toMatch(/secret|wrongpass/)
  }
})

it('sources with other codecs, over UDP and SRT, from a file and over HLS play, passed through or re-encoded', async () => {
  const folder = temporaryDataDir()
  const clip = ['-v', 'error', ...TEST_VIDEO, '-t', '6', ...H264]
  await Promise.all([
    run('ffmpeg', [...clip, '-f', 'hls', '-hls_time', '1', '-hls_list_size', '0', join(folder, 'live.m3u8')]),
    run('ffmpeg', [...clip, join(folder, 'clip.mp4')]),
  ])
  const web = createServer((request, response) => {
    const name = (request.url ?? '').slice(1)
    const type = name.endsWith('.m3u8') ? 'application/vnd.apple.mpegurl' : 'video/mp2t'
    response.writeHead(200, { 'content-type': type }).end(readFileSync(join(folder, name.replaceAll('/', ''))))
  }).listen(0, '127.0.0.1')
  await once(web, 'listening')
  onTestFinished(() => {
    web.closeAllConnections()
    web.close()
  })
  const source = await openSource()
  const [udp, again, srt] = [await freeUdpPort(), await freeUdpPort(), await freeUdpPort()]
  for (const port of [udp, again]) send([`udp://127.0.0.1:${port}?pkt_size=1316`])
  send([`srt://127.0.0.1:${srt}?mode=listener`])
  const rows = {
    jpeg: { source: { uri: source.url('/jpeg') } },
    vp8: { source: { uri: source.url('/vp8') }, encoding: SMALL },
    udp: { source: { uri: `udp://127.0.0.1:${udp}` } },
    encoded: { source: { uri: `udp://127.0.0.1:${again}` }, encoding: SMALL },
    srt: { source: { uri: `srt://127.0.0.1:${srt}`, latency_ms: 50 } },
    file: { source: { uri: `file://${folder}/clip.mp4` } },
    hls: { source: { uri: `http://127.0.0.1:${(web.address() as AddressInfo).port}/live.m3u8` } },
  }
  await Promise.all(Object.entries(rows).map(([id, more]) => plays(id, more)))
})
