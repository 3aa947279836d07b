import { readlinkSync } from 'node:fs'
import { expect, it, onTestFinished } from 'vitest'
import { watchArguments } from '../../helpers/process/argument-watch.ts'
import { childrenOf } from '../../helpers/process/processes.ts'
import { command, createPipeline, openSource } from '../../helpers/service/pipelines.ts'
import { shareService } from '../../helpers/service/share-service.ts'

const service = shareService()
const PASSWORD = 'n0-process-may-show-this'
const STARTS = 10
const networkOf = (pid: number | 'self'): string => readlinkSync(`/proc/${pid}/ns/net`)

it.each([
  ['is re-encoded', '/h264', { codec: 'h264', width: 160, height: 120, quality: 1, bitrate: 500 }],
  ['sends MPEG-TS', '/mp2t', null],
])('the process of an RTSP source that %s has neither a network nor the password', async (what, path, encoding) => {
  const source = await openSource('--auth', 'digest', '--password', PASSWORD)
  const id = what.replaceAll(' ', '-')
  await createPipeline(service, id, { source: { uri: source.url(path, `user:${PASSWORD}`) }, encoding })
  await command(service, id, 'stop')
  const watched = watchArguments(service.enginePid(), [PASSWORD, Buffer.from(`user:${PASSWORD}`).toString('base64')])
  onTestFinished(() => void watched.stop())
  for (let start = 0; start < STARTS; start += 1) {
    expect(await command(service, id, 'play')).toMatchObject({ status: 200 })
    const networks = childrenOf(service.enginePid()).map(({ pid }) => networkOf(pid))
    expect([networks.length, networks.includes(networkOf('self'))]).toEqual([1, false])
    await command(service, id, 'stop')
  }
  const { processes, found } = await watched.stop()
  expect([processes >= STARTS, found]).toEqual([true, []])
})
