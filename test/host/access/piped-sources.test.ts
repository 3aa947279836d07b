import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, readlinkSync } from 'node:fs'
import { createServer, get } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import { PICTURES, send, TS } from '../../helpers/media/play-launch.ts'
import { freeUdpPort } from '../../helpers/ports.ts'
import { watchArguments } from '../../helpers/process/argument-watch.ts'
import { childrenOf } from '../../helpers/process/processes.ts'
import { temporaryDataDir } from '../../helpers/process/temporary-data-dir.ts'
import { rounds } from '../../helpers/random.ts'
import { startOddServer } from '../../helpers/rtsp/odd-server.ts'
import { command, createPipeline, openSource } from '../../helpers/service/pipelines.ts'
import { shareService } from '../../helpers/service/share-service.ts'

const service = shareService()
const PASSWORD = 'n0-process-may-show-this'
const BASIC = Buffer.from(`user:${PASSWORD}`).toString('base64')
/** An argument or a variable is there from the start of a process on: each start shows it. */
const STARTS = rounds(3)
const networkOf = (pid: number | 'self'): string => readlinkSync(`/proc/${pid}/ns/net`)

const rtsp = async (path: string): Promise<string> =>
  (await openSource('--auth', 'digest', '--password', PASSWORD)).url(path, `user:${PASSWORD}`)

/** MPEG-TS of a pipeline of the service, behind a password. */
const http = async (): Promise<string> => {
  await createPipeline(service, 'ball', { source: { uri: 'test://ball?width=160&height=120&fps=15' } })
  const server = createServer((request, response) => {
    if (request.headers.authorization !== `Basic ${BASIC}`) return response.writeHead(401, { 'www-authenticate': 'Basic realm="r"' }).end()
    return get(`${service.url}/svc/pipeline/ball/stream.ts`, (media) => {
      response.writeHead(200, { 'content-type': 'video/mp2t' })
      media.pipe(response).on('close', () => media.destroy())
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  return `http://user:${PASSWORD}@127.0.0.1:${(server.address() as AddressInfo).port}/live`
}

/** A live stream whose segments are all the same, behind the same password. */
const hls = async (): Promise<string> => {
  const folder = temporaryDataDir()
  const record = `videotestsrc num-buffers=100 ! ${PICTURES} ! x264enc key-int-max=25 ! h264parse ! mpegtsmux ! filesink location=${folder}/a.ts`
  execFileSync('gst-launch-1.0', ['-q', ...record.split(' ')])
  const segment = readFileSync(`${folder}/a.ts`)
  const began = Date.now()
  const server = createServer((request, response) => {
    if (request.headers.authorization !== `Basic ${BASIC}`) return response.writeHead(401, { 'www-authenticate': 'Basic realm="r"' }).end()
    if (request.url === '/a.ts') return response.end(segment)
    const first = Math.floor((Date.now() - began) / 4000)
    const lines = ['#EXTM3U', '#EXT-X-TARGETDURATION:4', `#EXT-X-MEDIA-SEQUENCE:${first}`]
    return response.end([...lines, ...Array.from({ length: 4 }, () => '#EXT-X-DISCONTINUITY\n#EXTINF:4,\na.ts')].join('\n'))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  return `http://user:${PASSWORD}@127.0.0.1:${(server.address() as AddressInfo).port}/live.m3u8`
}

/** The same as the first, without a password. */
const udp = async (): Promise<string> => {
  const port = await freeUdpPort()
  onTestFinished(send(`${TS.H264} ! udpsink host=127.0.0.1 port=${port}`))
  return `udp://127.0.0.1:${port}`
}

/** A receiver of pushes, with the same password. */
const pushed = async () => {
  const { url } = await startOddServer({
    everyMs: 0,
    answer: ({ headers }, answer) => {
      if (headers.get('authorization') !== `Basic ${BASIC}`)
        Object.assign(answer, { status: 401, headers: { 'WWW-Authenticate': 'Basic realm="r"' } })
      return undefined
    },
  })
  return { source: { uri: 'test://ball?width=160&height=120&fps=15' }, push: [{ uri: url.replace('://', `://user:${PASSWORD}@`) }] }
}

const from = (open: () => Promise<string>) => async () => ({ source: { uri: await open() } })

it.each([
  ['RTSP', from(() => rtsp('/h264'))],
  ['MPEG-TS in RTSP', from(() => rtsp('/mp2t'))],
  ['MPEG-TS over HTTP', from(http)],
  ['MPEG-TS over UDP', from(udp)],
  ['HLS', from(hls)],
  ['a push over RTSP', pushed],
])('the process that re-encodes a source has neither a network nor the password: %s', async (what, open) => {
  const id = what.replaceAll(/\W/g, '')
  const encoding = { codec: 'h264', width: 160, height: 120, quality: 1, bitrate: 500 }
  await createPipeline(service, id, { ...(await open()), encoding })
  await command(service, id, 'stop')
  const watched = await watchArguments(service.enginePid(), [PASSWORD, BASIC])
  onTestFinished(() => void watched.stop())
  for (let start = 0; start < STARTS; start += 1) {
    expect(await command(service, id, 'play')).toMatchObject({ status: 200 })
    const networks = childrenOf(service.enginePid()).map(({ pid }) => networkOf(pid))
    expect([networks.length > 0, networks.includes(networkOf('self'))]).toEqual([true, false])
    await command(service, id, 'stop')
  }
  const { processes, found } = await watched.stop()
  expect([processes >= STARTS, found]).toEqual([true, []])
})
