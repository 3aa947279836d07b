import { once } from 'node:events'
import { connect } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { mediaChildren } from '../../helpers/api/host-truth.ts'
import { openVideo, type VideoClient, type VideoRecord } from '../../helpers/live/records.ts'
import { changeSettings, command, createPipeline, openSource, untilPhase, untilReaders, viewOf } from '../../helpers/service/pipelines.ts'
import { shareService } from '../../helpers/service/share-service.ts'
import { until } from '../../helpers/until.ts'

const service = shareService()

const watch = async (id: string): Promise<VideoClient> => {
  const client = await openVideo(`${service.url}/svc/pipeline/${id}/video`)
  onTestFinished(() => client.close())
  return client
}

const pictures = (records: readonly VideoRecord[]) => records.filter(({ kind }) => kind === 2 || kind === 3)
const events = (records: readonly VideoRecord[]) =>
  records.filter(({ kind }) => kind === 4).map(({ payload }) => JSON.parse(payload.toString()).type)

describe('live video over HTTP', () => {
  it('goes on over a lost source and a killed child, and ends when the pipeline is stopped', async () => {
    const source = await openSource('--gop-seconds', '0.5')
    await createPipeline(service, 'cam', { source: { uri: source.url('/h264'), latency_ms: 0 } })
    const client = await watch('cam')
    await client.until((records) => pictures(records).length > 30)
    expect(client.records[0]?.kind).toBe(1)
    expect((await viewOf(service, 'cam')).runtime.readers).toBe(1)
    await source.stop()
    await client.until((records) => events(records).length === 1)
    await openSource('--gop-seconds', '0.5', '--port', String(source.port))
    await client.until((records) => events(records).length === 2, 30_000)
    const seen = client.records.length
    await client.until((records) => records.length > seen + 30)
    const [child] = mediaChildren(service.enginePid())
    if (child !== undefined) {
      process.kill(child, 'SIGKILL')
      await client.until((records) => events(records).length === 4)
    }
    const after = client.records.length
    await client.until((records) => records.length > after + 30)
    const times = client.records.map(({ time }) => time)
    expect(times).toEqual(times.toSorted((one, other) => one - other))
    for (const [at, { kind, payload }] of client.records.entries()) {
      if (kind !== 4 || JSON.parse(payload.toString()).type !== 'source_back') continue
      expect(client.records.slice(at + 1).find((record) => record.kind !== 1)?.kind).toBe(2)
    }
    expect((await command(service, 'cam', 'stop')).status).toBe(200)
    await until(
      () => client.ended,
      (ended) => ended,
    )
    expect(await service.request('GET', '/svc/pipeline/cam/video')).toMatchObject({
      status: 409,
      body: { details: { reason: 'not_playing' } },
    })
  })

  it('disconnects a client that takes nothing, while another one misses no picture', { timeout: 90_000 }, async () => {
    const encoder = 'x264enc tune=zerolatency speed-preset=ultrafast key-int-max=10 bitrate=20000 qp-max=20'
    await createPipeline(service, 'snow', {
      raw_pipeline: `videotestsrc is-live=true pattern=snow ! video/x-raw,format=I420,width=640,height=360,framerate=20/1 ! ${encoder} ! rtph264pay name=pay0`,
    })
    const { hostname, port, host } = new URL(service.url)
    const stalled = connect({ host: hostname, port: Number(port) })
    onTestFinished(() => void stalled.destroy())
    stalled.on('error', () => {})
    stalled.pause().write(`GET /svc/pipeline/snow/video HTTP/1.1\r\nHost: ${host}\r\n\r\n`)
    const good = await watch('snow')
    await untilReaders(service, 'snow', 2)
    await untilReaders(service, 'snow', 1, 60_000)
    const times = pictures(good.records).map(({ time }) => time)
    expect(Math.max(...times.slice(1).map((time, at) => time - (times[at] ?? 0)))).toBeLessThan(150_000)
    // The API has let go of it too.
    const closed = once(stalled, 'close')
    stalled.resume()
    await closed
  })

  it('starts an on-demand pipeline as a reader would, and only if a reader may', async () => {
    await changeSettings(service, { on_demand: { close_after_seconds: 1 } })
    await createPipeline(service, 'demanded', { on_demand: true })
    const client = await watch('demanded')
    await client.until((records) => pictures(records).length > 10)
    await client.close()
    await untilPhase(service, 'demanded', 'idle')
    await changeSettings(service, { on_demand: { start_on_read: false } })
    expect(await service.request('GET', '/svc/pipeline/demanded/video')).toMatchObject({
      status: 409,
      body: { code: 'CONFLICT', details: { reason: 'not_playing' } },
    })
  })

  it('admits no more clients than there are places, also when all wait for the same start', async () => {
    await changeSettings(service, { readers: { max_per_pipeline: 2 } })
    await createPipeline(service, 'demanded', { on_demand: true })
    const clients = await Promise.all(Array.from({ length: 6 }, () => watch('demanded')))
    expect(clients.map(({ status }) => status).sort()).toEqual([200, 200, 503, 503, 503, 503])
    expect((await viewOf(service, 'demanded')).runtime.readers).toBe(2)
    for (const client of clients) await client.close()
    await untilReaders(service, 'demanded', 0)
    const next = await watch('demanded')
    expect(next.status).toBe(200)
    await next.close()
  })

  it('refuses what it cannot serve: another codec, no pay0, one reader too many', async () => {
    const source = await openSource()
    await changeSettings(service, { readers: { max_per_pipeline: 1 } })
    await createPipeline(service, 'vp8', { source: { uri: source.url('/vp8'), latency_ms: 0 } })
    await createPipeline(service, 'silent', { raw_pipeline: 'videotestsrc is-live=true ! fakesink' })
    await createPipeline(service, 'ball')
    const reasonOf = async (id: string) => {
      const { status, body } = await service.request('GET', `/svc/pipeline/${id}/video`)
      return [status, body.details.reason]
    }
    expect(await reasonOf('vp8')).toEqual([409, 'codec'])
    expect(await reasonOf('silent')).toEqual([409, 'no_pay0'])
    const client = await watch('ball')
    await client.until((records) => pictures(records).length > 0)
    expect(await reasonOf('ball')).toEqual([503, 'reader_limit'])
    // The first record comes at once: all since the last key frame is there.
    await client.close()
    await untilReaders(service, 'ball', 0)
    expect((await service.request('HEAD', '/svc/pipeline/ball/video')).status).toBe(200)
  })
})
