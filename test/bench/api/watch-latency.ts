/**
 * A path appears in the list of a media server that is watched: from the poll that sees it to `playing`, and from the poll that
 * misses it to its removal. The list is a stand-in for MediaMTX's; the stream comes from a real server, which answers DESCRIBE and
 * begins at its next key frame. watch-latency [TIMES] [FRAMES_BETWEEN_KEY_FRAMES, at 25 a second]
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { quantile, sleep } from '../../helpers/bench/measure.ts'
import { publishWithFfmpeg, startMediaServer } from '../../helpers/media/media-server.ts'
import { startMediamtxApi } from '../../helpers/media/mediamtx-api.ts'
import { startService } from '../../helpers/process/service.ts'
import { until } from '../../helpers/until.ts'

const [times = 20, keyEvery = 5] = process.argv.slice(2).map(Number)

const [server, api] = [await startMediaServer(), await startMediamtxApi()]
const publisher = publishWithFfmpeg(server.publishUrl('cam'), '640x360', 25, keyEvery)
await server.line(({ available }) => available === 'cam')
const dataDir = mkdtempSync(join(tmpdir(), 'bench-'))
const env = { SVC_OUTPUT_PORTS: '20000-20999', SVC_MEDIA_SERVER: `127.0.0.1:${server.port}`, SVC_MEDIA_SERVER_API: api.url }
const service = await startService({ dataDir, env })

/** Lists these paths; answers how long after the first poll that sees them the pipelines are as they should be, milliseconds. */
const change = async (paths: readonly string[], holds: (list: readonly { readonly state: string }[]) => boolean): Promise<number> => {
  const polls = api.requests.length
  api.list(...paths)
  await until(async () => (await service.request('GET', '/svc/pipeline')).body, holds)
  return performance.now() - (api.requests[polls]?.at ?? Number.NaN)
}

const [played, removed]: [number[], number[]] = [[], []]
try {
  for (let round = 0; round < times; round += 1) {
    await sleep(Math.random() * 1000)
    played.push(await change(['cam'], ([pipeline]) => pipeline?.state === 'playing'))
    removed.push(await change([], (list) => list.length === 0))
  }
  const of = (values: readonly number[]) => ({ median: Math.round(quantile(values, 0.5)), most: Math.round(Math.max(...values)) })
  console.log(JSON.stringify({ times, poll_to_playing_ms: of(played), poll_to_removed_ms: of(removed) }))
} finally {
  await service.stop()
  await publisher.kill()
  await server.stop()
  await api.stop()
  rmSync(dataDir, { recursive: true, force: true })
}
