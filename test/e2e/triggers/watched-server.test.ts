import { describe, expect, it, onTestFinished } from 'vitest'
import { codeBlocks, readDocument, section, shellCommands } from '../../helpers/documents.ts'
import { type MediaServer, openMediaServer, publishTo } from '../../helpers/media/media-server.ts'
import { type MediamtxApi, startMediamtxApi } from '../../helpers/media/mediamtx-api.ts'
import { ffmpegDecode } from '../../helpers/media/players.ts'
import { childrenOf } from '../../helpers/process/processes.ts'
import { type Service, startService } from '../../helpers/process/service.ts'
import { outputOf, viewOf } from '../../helpers/service/pipelines.ts'
import { until } from '../../helpers/until.ts'

const SECRET = 'pass-of-the-api'

/** A real media server with published streams, and the path list of a MediaMTX in front of it. */
const startBoth = async (): Promise<{ readonly server: MediaServer; readonly api: MediamtxApi; readonly env: Record<string, string> }> => {
  const [server, api] = [await openMediaServer(), await startMediamtxApi({ credentials: `watcher:${SECRET}` })]
  onTestFinished(() => api.stop())
  const env = { SVC_MEDIA_SERVER: `127.0.0.1:${server.port}`, SVC_MEDIA_SERVER_API: `http://watcher:${SECRET}@127.0.0.1:${api.port}` }
  return { server, api, env }
}

const pipelines = async (service: Service) => (await service.request('GET', '/svc/pipeline')).body as { id: string; state: string }[]
const playing = (service: Service, ids: readonly string[]) =>
  until(
    () => pipelines(service),
    (list) => list.length === ids.length && list.every(({ id, state }) => ids.includes(id) && state === 'playing'),
  )

describe('a service that watches a media server', () => {
  it('plays what is published, removes what has ended, and goes on through an outage of the API', async () => {
    const { server, api, env } = await startBoth()
    const service = await startService({ env })
    const publisher = await publishTo(server, 'live/cam')
    api.list('live/cam')
    await playing(service, ['livecam'])
    expect((await ffmpegDecode(outputOf(await viewOf(service, 'livecam')), 30)).errors).toEqual([])

    await api.stop()
    await service.waitForLog('media_server_not_watched')
    expect(await pipelines(service)).toMatchObject([{ id: 'livecam', state: 'playing' }])
    const back = await startMediamtxApi({ credentials: `watcher:${SECRET}`, port: api.port })
    onTestFinished(() => back.stop())
    await publisher.unpublish()
    back.list({ name: 'live/cam', available: false })
    await until(
      () => pipelines(service),
      (list) => list.length === 0,
    )
    expect(childrenOf(service.enginePid())).toEqual([])
    await service.stop()
    expect(service.log.join('\n')).not.toMatch(new RegExp(`${SECRET}|watcher`))
  }, 60_000)

  it('needs two lines of mediamtx.yml and a variable, has what was published before, and ends with a stream that starts', async () => {
    const text = section(readDocument('docs/triggers.md'), '## MediaMTX without hooks')
    const [yaml = '', ...moreYaml] = codeBlocks(text, 'yaml')
    const [command = '', ...moreCommands] = shellCommands(text)
    const [, address = ''] = /^api: yes\napiAddress: (\S+)$/m.exec(yaml) ?? []
    const [, name = '', value = ''] = /^(\w+)=(\S+) npm start$/.exec(command) ?? []
    expect([moreYaml, moreCommands, value]).toEqual([[], [], `http://${address}`])

    const [server, api] = [await openMediaServer(), await startMediamtxApi()]
    onTestFinished(() => api.stop())
    const url = value.replace(address, `127.0.0.1:${api.port}`)
    await publishTo(server, 'one')
    // The second is in the list, but the media server has no such stream.
    api.list('one', 'missing')
    const service = await startService({ env: { SVC_MEDIA_SERVER: `127.0.0.1:${server.port}`, [name]: url } })
    await playing(service, ['one'])
    expect(await service.waitForLog('media_server_watched')).toMatchObject({ url })
    await service.waitForLog('stream_not_published')
    const before = api.requests.length
    await until(
      () => api.requests.length,
      (now) => now > before,
    )
    await service.stop()
    const after = api.requests.length
    await new Promise((resolve) => setTimeout(resolve, 1500))
    expect(api.requests.length).toBe(after)
  }, 60_000)
})
