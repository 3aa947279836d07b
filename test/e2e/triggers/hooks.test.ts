import { join } from 'node:path'
import { createClient } from '@libsql/client/sqlite3'
import { describe, expect, it } from 'vitest'
import { readDocument } from '../../helpers/documents.ts'
import { type MediaServer, openMediaServer, publishTo, publishWithFfmpeg } from '../../helpers/media/media-server.ts'
import { ffmpegDecode, ffprobe } from '../../helpers/media/players.ts'
import { freePort, portIsFree } from '../../helpers/ports.ts'
import { childrenOf } from '../../helpers/process/processes.ts'
import { type Service, startService } from '../../helpers/process/service.ts'
import { changeSettings, outputOf, portOf, untilView, viewOf } from '../../helpers/service/pipelines.ts'
import { until } from '../../helpers/until.ts'

const API_KEY = 'a-key-of-the-triggers-long-enough'
const DOCUMENT = readDocument('docs/triggers.md')
const PATH = '/svc/triggers/mediaServer/publish'

/** A folded block (`name: >-`) of the mediamtx.yml that has it. */
const hookOf = (name: string): string => {
  const folded = new RegExp(`^( *)${name}: >-\\n((?:\\1 +.*\\n)+)`, 'm').exec(DOCUMENT)?.[2]
  if (folded === undefined) throw new Error(`docs/triggers.md has no ${name}`)
  return folded.trim().replace(/\s*\n\s*/g, ' ')
}

const trigger = (service: Service, method: 'PUT' | 'DELETE', path: string) =>
  service.request(method, `${PATH}?path=${encodeURIComponent(path)}`, undefined, { 'x-api-key': API_KEY })

const rows = async (service: Service): Promise<number> => {
  const client = createClient({ url: `file:${join(service.dataDir, 'service.db')}` })
  try {
    return Number((await client.execute('SELECT count(*) AS n FROM pipelines')).rows[0]?.n)
  } finally {
    client.close()
  }
}

const left = async (service: Service, port: number) => ({
  processes: childrenOf(service.enginePid()).length,
  list: (await service.request('GET', '/svc/pipeline')).body,
  rows: await rows(service),
  portIsFree: await portIsFree(port),
})
const NOTHING = { processes: 0, list: [], rows: 0, portIsFree: true }

const serviceFor = (server: MediaServer, env: Record<string, string> = {}): Promise<Service> =>
  startService({ env: { SVC_API_KEY: API_KEY, SVC_MEDIA_SERVER: `127.0.0.1:${server.port}`, ...env } })

describe('a media server that calls the triggers', () => {
  it('makes a pipeline of a published stream with the documented hooks, and leaves nothing when it ends', async () => {
    // The hooks need the address of the service, and the service that of the media server: a port is found for the service first.
    const port = await freePort()
    const adapted = (name: string): string => hookOf(name).replace('127.0.0.1:8080', `127.0.0.1:${port}`)
    const server = await openMediaServer({
      onAvailable: adapted('runOnAvailable'),
      onUnavailable: adapted('runOnUnavailable'),
      env: { SVC_API_KEY: API_KEY },
    })
    const service = await serviceFor(server, { SVC_PORT: String(port) })
    const publisher = await publishTo(server, 'live/cam&1.a')
    const hookFor = (method: string) => server.line(({ hook }) => hook?.includes(method) ?? false)
    expect(await hookFor('PUT')).toMatchObject({ code: 0, output: '' })

    const { body } = await service.request('GET', '/svc/pipeline/livecam1a')
    expect(body).toMatchObject({ state: 'playing', ephemeral: true, source: { uri: `rtsp://127.0.0.1:${server.port}/live/cam&1.a` } })
    const url = outputOf(body)
    expect(await ffprobe(url)).toMatchObject([{ codec_name: 'h264', width: 1920, height: 1080, avg_frame_rate: '30/1' }])
    expect((await ffmpegDecode(url, 30)).errors).toEqual([])
    await publisher.unpublish()
    expect(await hookFor('DELETE')).toMatchObject({ code: 0, output: '' })
    expect(await left(service, portOf(url))).toEqual(NOTHING)
  })

  it('may send no DELETE: the pipeline is removed after a time, and the stream can be published again', async () => {
    const server = await openMediaServer()
    const service = await serviceFor(server)
    await changeSettings(service, { triggers: { give_up_after_seconds: 2 } })
    const publisher = await publishTo(server, 'cam', (url) => publishWithFfmpeg(url, '160x120', 5))
    expect((await trigger(service, 'PUT', 'cam')).status).toBe(200)
    const url = outputOf(await viewOf(service, 'cam'))

    await publisher.kill()
    await untilView(service, 'cam', ({ runtime }) => runtime?.phase === 'reconnecting')
    await service.waitForLog('triggered_pipeline_given_up')
    await until(
      () => left(service, portOf(url)),
      ({ rows, processes }) => rows + processes === 0,
    )
    expect(await left(service, portOf(url))).toEqual(NOTHING)
    expect(await trigger(service, 'PUT', 'cam')).toMatchObject({ status: 500, body: { details: { reason: 'not_found' } } })
    expect(await left(service, portOf(url))).toEqual(NOTHING)
  })
})
