import { execFileSync } from 'node:child_process'
import { createCipheriv } from 'node:crypto'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { faultOf, playSource, type SourcePlay } from '../../helpers/media/play-source.ts'
import { until } from '../../helpers/until.ts'

const FPS = 25
const KEY = Buffer.from('0123456789abcdef')
const files = new Map<string, Buffer | (() => string)>()
const asked: string[] = []
const folder = mkdtempSync(join(tmpdir(), 'hls-'))

const answer = (path: string, range: string | undefined, response: ServerResponse): void => {
  asked.push(path)
  const file = files.get(path)
  if (file === undefined) return void response.writeHead(404).end()
  if (typeof file === 'function') return void response.writeHead(200, { 'content-type': 'application/vnd.apple.mpegurl' }).end(file())
  const [from = 0, to = file.length] = range?.match(/\d+/g)?.map(Number) ?? []
  response.writeHead(range === undefined ? 200 : 206).end(range === undefined ? file : file.subarray(from, to + 1))
}
const server = createServer(({ url = '', headers }, response) => answer(url, headers.range, response))
const urlOf = (path: string): string => `http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`

/** Two seconds, with a key frame each second. */
const record = (name: string, ...output: readonly string[]): void => {
  const source = ['-v', 'error', '-f', 'lavfi', '-i', `testsrc=size=160x120:rate=${FPS}:duration=2`]
  const video = ['-c:v', 'libx264', '-preset', 'ultrafast', '-pix_fmt', 'yuv420p', '-g', String(FPS)]
  execFileSync('ffmpeg', [...source, ...video, ...output, join(folder, name)])
}

beforeAll(async () => {
  record('a.ts', '-output_ts_offset', '5000')
  record('b.ts', '-output_ts_offset', '100')
  record('mp4.m3u8', '-f', 'hls', '-hls_time', '1', '-hls_segment_type', 'fmp4', '-hls_playlist_type', 'vod')
  for (const name of readdirSync(folder)) files.set(`/${name}`, readFileSync(join(folder, name)))
  const text = (...lines: readonly string[]) => ['#EXTM3U', '#EXT-X-TARGETDURATION:2', ...lines].join('\n')
  const [a = Buffer.alloc(0), b = Buffer.alloc(0)] = ['/a.ts', '/b.ts'].map((name) => files.get(name) as Buffer)
  const encrypted = (bytes: Buffer, iv: Buffer) => {
    const cipher = createCipheriv('aes-128-cbc', KEY, iv)
    return Buffer.concat([cipher.update(bytes), cipher.final()])
  }
  const [numbered, given] = [Buffer.alloc(16), Buffer.alloc(16, 7)]
  numbered.writeUInt8(3, 15)
  files.set('/key', KEY)
  files.set('/a.enc', encrypted(a, numbered))
  files.set('/b.enc', encrypted(b, given))
  files.set('/all', Buffer.concat([Buffer.alloc(1000), a, b]))
  const key = '#EXT-X-KEY:METHOD=AES-128,URI="key"'
  files.set('/aes.m3u8', () =>
    text(
      '#EXT-X-MEDIA-SEQUENCE:3',
      key,
      '#EXTINF:2,',
      'a.enc',
      '#EXT-X-DISCONTINUITY',
      `${key},IV=0x${given.toString('hex')}`,
      '#EXTINF:2,',
      'b.enc',
      '#EXT-X-ENDLIST',
    ),
  )
  files.set('/ranges.m3u8', () =>
    text(
      '#EXTINF:2,',
      `#EXT-X-BYTERANGE:${a.length}@1000`,
      'all',
      '#EXT-X-DISCONTINUITY',
      '#EXTINF:2,',
      `#EXT-X-BYTERANGE:${b.length}`,
      'all',
      '#EXT-X-ENDLIST',
    ),
  )
  files.set('/variants.m3u8', () =>
    ['#EXTM3U', '#EXT-X-STREAM-INF:BANDWIDTH=1', 'nope.m3u8', '#EXT-X-STREAM-INF:BANDWIDTH=2', 'ranges.m3u8'].join('\n'),
  )
  files.set('/sample-aes.m3u8', () => text('#EXT-X-KEY:METHOD=SAMPLE-AES,URI="skd://x"', '#EXTINF:2,', 'a.ts', '#EXT-X-ENDLIST'))
  let number = 0
  files.set('/live.m3u8', () => {
    number += 1
    const segment = (at: number) => ['#EXT-X-DISCONTINUITY', '#EXTINF:2,', at === 10 ? 'gone.ts' : at % 2 === 0 ? 'a.ts' : 'b.ts']
    return text(
      '#EXT-X-TARGETDURATION:1',
      `#EXT-X-MEDIA-SEQUENCE:${number}`,
      ...Array.from({ length: 10 }, (_, at) => segment(number + at)).flat(),
    )
  })
  files.set(
    '/mp4.m3u8',
    (
      (playlist) => () =>
        playlist
    )(readFileSync(join(folder, 'mp4.m3u8'), 'utf8')),
  )
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
})
afterAll(() => {
  server.closeAllConnections()
  server.close()
  rmSync(folder, { recursive: true })
})

/** Media times of the pictures, milliseconds from the first. */
const timesOf = ({ video }: SourcePlay): readonly number[] => video.map(({ mediaMs }) => Math.round(mediaMs - (video[0]?.mediaMs ?? 0)))

const expectSteady = (times: readonly number[], pictures: number): void => {
  expect(times.length).toBeGreaterThanOrEqual(pictures)
  const steps = times.slice(1).map((ms, at) => ms - (times[at] ?? 0))
  expect(steps.filter((step) => Math.abs(step - 1000 / FPS) > 12)).toEqual([])
}

it.concurrent.each([
  ['AES-128, by the number of a segment and by a given vector, over a discontinuity', '/aes.m3u8'],
  ['byte ranges, of the best variant', '/variants.m3u8'],
  ['fragmented MP4', '/mp4.m3u8'],
])('a recording plays to its end: %s', async (what, path) => {
  const play = await playSource(urlOf(path))
  expect(await play.ended).toMatchObject({ reason: 'ended' })
  expectSteady(timesOf(play), what.startsWith('fragmented') ? 2 * FPS : 4 * FPS)
})

it.concurrent('a live stream is joined at its end, and goes on over discontinuities and a segment that is gone', async () => {
  const play = await playSource(urlOf('/live.m3u8'))
  await until(
    () => play.video.length,
    (count) => count > 5 * FPS,
    30_000,
  )
  expectSteady(timesOf(play), 5 * FPS)
  expect(asked).toContain('/gone.ts')
  await play.stop()
}, 40_000)

it.each([
  ['/sample-aes.m3u8', 'unsupported', 'AES-128'],
  ['/none.m3u8', 'not_found', '404'],
])('says what is wrong with %s', async (path, reason, says) => {
  expect(await faultOf(urlOf(path))).toMatchObject({ reason, message: expect.stringContaining(says) })
})
