import { execFile, spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it, onTestFinished } from 'vitest'
import { ffmpegDecode } from '../helpers/media/players.ts'
import { freePort } from '../helpers/ports.ts'
import { type Service, startService } from '../helpers/process/service.ts'

import { startRtspSource } from '../helpers/rtsp/source.ts'

const run = promisify(execFile)
const TEST_VIDEO = ['-f', 'lavfi', '-i', 'testsrc2=size=320x240:rate=25']
const H264 = ['-c:v', 'libx264', '-preset', 'ultrafast', '-tune', 'zerolatency', '-g', '25', '-pix_fmt', 'yuv420p']

const temporaryFolder = (): string => {
  const folder = mkdtempSync(join(tmpdir(), 'source-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** Sends with ffmpeg until the test is over. */
const send = (args: readonly string[]): void => {
  const child = spawn('ffmpeg', ['-v', 'error', '-re', ...TEST_VIDEO, ...args], { stdio: 'ignore' })
  onTestFinished(() => {
    child.kill('SIGKILL')
  })
}

/** Creates a pipeline, lets ffmpeg decode its output without an error, and deletes it. */
const plays = async (service: Service, source: Record<string, unknown>, more: Record<string, unknown> = {}): Promise<void> => {
  const { status, body } = await service.request('POST', '/svc/pipeline', { id: 'any', mode: 'simple', source, ...more })
  expect({ status, message: body.message }).toEqual({ status: 201, message: undefined })
  expect(await ffmpegDecode(body.output.uri.replace('0.0.0.0', '127.0.0.1'), 20)).toEqual({ frames: 20, errors: [] })
  await service.request('PUT', '/svc/pipeline/any/stop')
  await service.request('DELETE', '/svc/pipeline/any')
}

describe('a source', () => {
  it.each([
    ['asks for Basic credentials', ['--auth', 'basic'], 'rtsp', 'engine'],
    ['asks for Digest credentials', ['--auth', 'digest'], 'rtsp', 'engine'],
    ['sends over UDP only', ['--auth', 'basic', '--transport', 'udp'], 'rtsp', 'engine'],
    ['must send over TCP', ['--auth', 'basic', '--transport', 'tcp'], 'rtspt', 'engine'],
    ['is read by a child', ['--auth', 'digest'], 'rtsp', 'child'],
  ])('plays over RTSP when it %s', async (_what, args, scheme, reader) => {
    const source = await startRtspSource(args)
    onTestFinished(() => source.stop())
    const service = await startService({ env: { SVC_RTSP_READER: reader } })
    await plays(service, { uri: source.url('/h264', 'user:secret').replace(/^rtsp/, scheme), latency_ms: 100 })
    const refused = await service.request('POST', '/svc/pipeline', {
      id: 'any',
      mode: 'simple',
      source: { uri: source.url('/h264', 'user:wrongpass') },
    })
    expect(refused).toMatchObject({ status: 500, body: { code: 'ENGINE_ERROR', details: { reason: 'unauthorized' } } })
    expect(JSON.stringify(refused.body) + service.log.join('')).not.toMatch(/secret|wrongpass/)
    await service.stop()
  })

  it('plays over RTSP with TLS and a self-signed certificate', async () => {
    const folder = temporaryFolder()
    const [certificate, key] = [join(folder, 'cert.pem'), join(folder, 'key.pem')]
    await run('openssl', [
      'req',
      '-x509',
      '-newkey',
      'rsa:2048',
      '-nodes',
      '-days',
      '1',
      '-subj',
      '/CN=camera',
      '-out',
      certificate,
      '-keyout',
      key,
    ])
    const source = await startRtspSource(['--auth', 'basic', '--tls', certificate, key])
    onTestFinished(() => source.stop())
    const service = await startService()
    await plays(service, { uri: source.url('/h264', 'user:secret') })
    await service.stop()
  })

  it('with another codec is passed through from RTSP, and re-encoded on request', async () => {
    const source = await startRtspSource()
    onTestFinished(() => source.stop())
    const service = await startService()
    await plays(service, { uri: source.url('/jpeg') })
    await plays(service, { uri: source.url('/vp8') }, { encoding: { codec: 'h264', quality: 1, bitrate: 500 } })
    await service.stop()
  })

  it('plays as MPEG-TS over UDP and SRT, passed through and re-encoded', async () => {
    const [udp, srt] = [await freePort(), await freePort()]
    send([...H264, '-f', 'mpegts', `udp://127.0.0.1:${udp}?pkt_size=1316`])
    send([...H264, '-f', 'mpegts', `srt://127.0.0.1:${srt}?mode=listener`])
    const service = await startService()
    await plays(service, { uri: `udp://127.0.0.1:${udp}` })
    await plays(service, { uri: `udp://127.0.0.1:${udp}` }, { encoding: { codec: 'h264', width: 160, height: 120, quality: 1 } })
    await plays(service, { uri: `srt://127.0.0.1:${srt}`, latency_ms: 50 })
    await service.stop()
  })

  it('plays as a file when files are allowed, and as HLS over HTTP', async () => {
    const folder = temporaryFolder()
    await run('ffmpeg', [
      '-v',
      'error',
      ...TEST_VIDEO,
      '-t',
      '6',
      ...H264,
      '-f',
      'hls',
      '-hls_time',
      '1',
      '-hls_list_size',
      '0',
      join(folder, 'live.m3u8'),
    ])
    await run('ffmpeg', ['-v', 'error', ...TEST_VIDEO, '-t', '6', ...H264, join(folder, 'clip.mp4')])
    const web = createServer((request, response) => {
      const name = (request.url ?? '').slice(1)
      const type = name.endsWith('.m3u8') ? 'application/vnd.apple.mpegurl' : 'video/mp2t'
      response.writeHead(200, { 'content-type': type }).end(readFileSync(join(folder, name.replaceAll('/', ''))))
    })
    await new Promise<void>((resolve) => web.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => {
      web.closeAllConnections()
      web.close()
    })
    const service = await startService({ env: { SVC_ALLOW_FILE_SOURCES: '1' } })
    await plays(service, { uri: `file://${folder}/clip.mp4` })
    await plays(service, { uri: `http://127.0.0.1:${(web.address() as AddressInfo).port}/live.m3u8` })
    await service.stop()

    const closed = await startService()
    const refused = await closed.request('POST', '/svc/pipeline', {
      id: 'any',
      mode: 'simple',
      source: { uri: `file://${folder}/clip.mp4` },
    })
    expect(refused).toMatchObject({ status: 400, body: { code: 'VALIDATION_ERROR', details: { issues: [{ path: 'source.uri' }] } } })
    await closed.stop()
  })
})
