import { once } from 'node:events'
import { readlinkSync } from 'node:fs'
import { createServer, get } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import { watchArguments } from '../../helpers/process/argument-watch.ts'
import { childrenOf } from '../../helpers/process/processes.ts'
import { command, createPipeline, openSource } from '../../helpers/service/pipelines.ts'
import { shareService } from '../../helpers/service/share-service.ts'

const service = shareService()
const PASSWORD = 'n0-process-may-show-this'
const BASIC = Buffer.from(`user:${PASSWORD}`).toString('base64')
const STARTS = 10
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

it.each([
  ['RTSP, re-encoded', () => rtsp('/h264'), { codec: 'h264', width: 160, height: 120, quality: 1, bitrate: 500 }],
  ['MPEG-TS in RTSP', () => rtsp('/mp2t'), null],
  ['MPEG-TS over HTTP', http, null],
])('the process of a source has neither a network nor the password: %s', async (what, open, encoding) => {
  const id = what.replaceAll(/\W/g, '')
  await createPipeline(service, id, { source: { uri: await open() }, encoding })
  await command(service, id, 'stop')
  const watched = watchArguments(service.enginePid(), [PASSWORD, BASIC])
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
