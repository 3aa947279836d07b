import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { runToEnd } from '../../../engine/gst/child.ts'
import { freeUdpPort, H264, PICTURES, plan, play, send, TS } from '../../helpers/media/play-launch.ts'
import { until } from '../../helpers/until.ts'

/** Whether some process has bound this UDP port. */
const isUdpPortOpen = (port: number): boolean =>
  readFileSync('/proc/net/udp', 'utf8').includes(`:${port.toString(16).toUpperCase().padStart(4, '0')} 00000000:0000`)

describe('MPEG-TS sources', () => {
  it.each(['H264', 'H265'] as const)('%s over UDP passes through', async (codec) => {
    const port = await freeUdpPort()
    onTestFinished(send(`${TS[codec]} ! udpsink host=127.0.0.1 port=${port}`))
    expect((await play(await plan(`udp://127.0.0.1:${port}`))).caps.get('pay0')).toContain(`encoding-name=(string)${codec}`)
  })

  it('over UDP passes its video through when it carries sound as well', async () => {
    const port = await freeUdpPort()
    const [encode = '', mux = ''] = TS.H264.split(' ! mpegtsmux ')
    onTestFinished(
      send(
        `audiotestsrc is-live=true ! avenc_mp2 ! mpegaudioparse ! mux. ${encode} ! mpegtsmux name=mux ${mux} ! udpsink host=127.0.0.1 port=${port}`,
      ),
    )
    expect((await play(await plan(`udp://127.0.0.1:${port}`))).caps.get('pay0')).toContain('H264')
  })

  it('over UDP is re-encoded', async () => {
    const port = await freeUdpPort()
    onTestFinished(send(`${TS.H265} ! udpsink host=127.0.0.1 port=${port}`))
    expect((await play(await plan(`udp://127.0.0.1:${port}`, H264))).caps.get('pay0')).toContain('encoding-name=(string)H264')
  })

  it('over SRT passes through when the sender calls, with a passphrase', async () => {
    const port = await freeUdpPort()
    const launch = await plan(`srt://127.0.0.1:${port}?mode=listener&passphrase=correcthorse`)
    // A caller that nobody answers ends after a few seconds.
    const call = async (): Promise<void> => {
      await until(
        () => isUdpPortOpen(port),
        (open) => open,
      )
      onTestFinished(send(`${TS.H264} ! srtsink uri=srt://127.0.0.1:${port}?mode=caller passphrase=correcthorse`))
    }
    const [{ caps }] = await Promise.all([play(launch), call()])
    expect(caps.get('pay0')).toContain('H264')
  })

  it('over SRT says that nothing answers', async () => {
    await expect(play(await plan(`srt://127.0.0.1:${await freeUdpPort()}`))).rejects.toMatchObject({ reason: 'unreachable' })
  })
})

describe('RTMP sources', () => {
  it('say that nothing listens', async () => {
    await expect(play(await plan('rtmp://127.0.0.1:1/app/key'))).rejects.toMatchObject({ reason: 'unreachable' })
  })
})

describe('files and HTTP', () => {
  let folder: string
  const server = createServer()
  let base: string
  const children = new Set<ReturnType<typeof spawn>>()

  const record = async (description: string): Promise<void> => {
    const { exitCode, stderr } = await runToEnd('gst-launch-1.0', ['-q', ...description.split(' ')], { timeoutMs: 20_000 })
    if (exitCode !== 0) throw new Error(stderr)
  }

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'sources '))
    const raw = `videotestsrc num-buffers=100 ! ${PICTURES}`
    const h264 = `${raw} ! x264enc tune=zerolatency speed-preset=ultrafast key-int-max=25 ! h264parse`
    const h265 = `${raw} ! x265enc tune=zerolatency speed-preset=ultrafast key-int-max=25 ! h265parse`
    const at = (name: string): string => join(folder, name).replaceAll(' ', '\\ ')
    // Each joined argument reaches gst-launch as it is written, blanks escaped.
    await Promise.all([
      record(`${h264} ! mp4mux ! filesink location=${at('a.mp4')}`),
      record(`${h265} ! matroskamux ! filesink location=${at('a.mkv')}`),
      record(`${raw} ! avenc_mpeg4 ! mpeg4videoparse ! mpegtsmux ! filesink location=${at('mpeg4.ts')}`),
      record(`${h264} ! mpegtsmux ! filesink location=${at('segment.ts')}`),
    ])
    writeFileSync(
      join(folder, 'recording.m3u8'),
      ['#EXTM3U', '#EXT-X-VERSION:3', '#EXT-X-TARGETDURATION:4', '#EXTINF:4.0,', 'segment.ts', '#EXT-X-ENDLIST', ''].join('\n'),
    )
    server.on('request', (request, response) => {
      const { pathname } = new URL(request.url ?? '/', 'http://h')
      const live = LIVE[pathname]
      if (live === undefined) return sendFile(join(folder, pathname), response)
      response.writeHead(200, { 'content-type': live.type })
      const child = spawn('gst-launch-1.0', ['-q', ...`${live.line} ! fdsink fd=1`.split(' ')], { stdio: ['ignore', 'pipe', 'ignore'] })
      children.add(child)
      child.stdout.pipe(response)
      response.on('close', () => child.kill('SIGKILL'))
      return undefined
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  })
  afterAll(() => {
    for (const child of children) child.kill('SIGKILL')
    server.closeAllConnections()
    server.close()
    rmSync(folder, { recursive: true, force: true })
  })

  const LIVE: Readonly<Record<string, { readonly type: string; readonly line: string }>> = {
    '/live.ts': { type: 'video/mp2t', line: TS.H264 },
    '/mjpeg': {
      type: 'multipart/x-mixed-replace; boundary=x',
      line: `videotestsrc is-live=true ! ${PICTURES} ! jpegenc ! multipartmux boundary=x`,
    },
  }

  const sendFile = async (path: string, response: ServerResponse): Promise<void> => {
    const bytes = await readFile(path).catch(() => undefined)
    const type = path.endsWith('.m3u8') ? 'application/vnd.apple.mpegurl' : 'application/octet-stream'
    if (bytes === undefined) response.writeHead(404).end()
    else response.writeHead(200, { 'content-type': type, 'content-length': bytes.length }).end(bytes)
  }

  it.each([
    ['a.mp4', 'H264'],
    ['a.mkv', 'H265'],
  ])('a file passes through: %s', async (name, codec) => {
    const uri = `file://${encodeURI(join(folder, name))}`
    expect((await play(await plan(uri))).caps.get('pay0')).toContain(`encoding-name=(string)${codec}`)
  })

  it.each([
    ['recording.m3u8', 'H264'],
    ['live.ts', 'H264'],
    ['a.mp4', 'H264'],
  ])('HTTP passes through: %s', async (name, codec) => {
    expect((await play(await plan(`${base}/${name}`))).caps.get('pay0')).toContain(`encoding-name=(string)${codec}`)
  })

  it.each(['mjpeg', 'mpeg4.ts', 'recording.m3u8'])('HTTP is re-encoded: %s', async (name) => {
    expect((await play(await plan(`${base}/${name}`, H264))).caps.get('pay0')).toContain('encoding-name=(string)H264')
  })

  it('another codec asks for encoding: MJPEG known by its type, MPEG-4 by its data', async () => {
    await expect(plan(`${base}/mjpeg`)).rejects.toMatchObject({ reason: 'unsupported', message: expect.stringContaining('encoding') })
    await expect(play(await plan(`${base}/mpeg4.ts`))).rejects.toMatchObject({
      reason: 'unsupported',
      message: expect.stringContaining('encoding'),
    })
  })

  it('what is not there is said to be not there', async () => {
    await expect(plan(`${base}/nope.m3u8`)).rejects.toMatchObject({ reason: 'not_found' })
    await expect(plan(`file://${encodeURI(folder)}/nope`)).rejects.toMatchObject({ reason: 'not_found' })
    await expect(plan(`file://${encodeURI(folder)}`)).rejects.toMatchObject({ reason: 'unsupported' })
  })
})
