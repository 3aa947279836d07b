import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { counterGaps, countPictures } from '../../helpers/media/transport-stream.ts'
import { command, createPipeline, untilReaders } from '../../helpers/service/pipelines.ts'
import { shareService } from '../../helpers/service/share-service.ts'

const run = promisify(execFile)
const service = shareService({ SVC_TRUST_PROXY: '1' })
const SOURCE = { uri: 'test://ball?width=160&height=120&fps=25&audio=1' }
const ask = (path: string, client: string) => service.request('GET', `/svc/pipeline/lane/${path}`, undefined, { 'x-forwarded-for': client })

it('plays an on-demand pipeline by HLS, whose players are a reader each, until it stops', { timeout: 30_000 }, async () => {
  await createPipeline(service, 'lane', { on_demand: true, source: SOURCE, audio: 'aac' })
  const url = `${service.url}/svc/pipeline/lane/live.m3u8`
  const player = run('ffmpeg', ['-v', 'error', '-i', url, '-map', '0', '-c', 'copy', '-f', 'mpegts', '-'], {
    encoding: 'buffer',
    maxBuffer: 1e8,
  })
  await untilReaders(service, 'lane', 1)
  const [first, again] = await Promise.all([ask('live.m3u8', '10.0.0.1'), ask('live.m3u8', '10.0.0.1')])
  expect([first.status, again.status, first.headers.get('content-type')]).toEqual([200, 200, 'application/vnd.apple.mpegurl'])
  await untilReaders(service, 'lane', 2)

  const name = /live\/\d+\.ts/.exec(String(first.body))?.[0] ?? ''
  const segment = await fetch(`${service.url}/svc/pipeline/lane/${name}`)
  const bytes = Buffer.from(await segment.arrayBuffer())
  expect([segment.status, Number(segment.headers.get('content-length')), counterGaps(bytes)]).toEqual([200, bytes.length, 0])
  expect(countPictures(bytes)).toBeGreaterThanOrEqual(48)
  const part = await fetch(`${service.url}/svc/pipeline/lane/${name}`, { headers: { range: 'bytes=188-375' } })
  expect([part.status, Buffer.from(await part.arrayBuffer())]).toEqual([206, bytes.subarray(188, 376)])

  await command(service, 'lane', 'stop')
  expect(String((await ask('live.m3u8', '10.0.0.1')).body)).toMatch(/#EXT-X-ENDLIST\n$/)
  // ffmpeg ends by itself, and complains about nothing.
  const { stdout, stderr } = await player
  expect([stderr.toString(), countPictures(stdout) >= 48]).toEqual(['', true])
})
