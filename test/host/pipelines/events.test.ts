import { once } from 'node:events'
import { type AddressInfo, createConnection } from 'node:net'
import { queryObjects } from 'node:v8'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { FetchHandler } from '../../../handlers/app.ts'
import { eventStream } from '../../../handlers/http/streams/sse.ts'
import { createHttpServer } from '../../../handlers/node/server/http-server.ts'
import { createEventFeed } from '../../../lib/events/feed.ts'
import { parseMetrics } from '../../helpers/api/prometheus.ts'
import { followSse, type SseClient } from '../../helpers/api/sse-client.ts'
import { childrenOf } from '../../helpers/process/processes.ts'
import { type Service, startService } from '../../helpers/process/service.ts'
import { silentLog } from '../../helpers/rtsp/media.ts'
import { changeSettings, command, createPipeline, read } from '../../helpers/service/pipelines.ts'
import { shareService } from '../../helpers/service/share-service.ts'

const service = shareService()
const SMALL = { source: { uri: 'test://ball?width=160&height=120&fps=15' } }

const follow = async ({ url }: Service, path: string): Promise<SseClient> => {
  const response = await fetch(`${url}${path}`)
  expect(response.status).toBe(200)
  return followSse(response)
}
const scrape = async () => {
  const { status, body } = await service.request('GET', '/svc/metrics')
  expect(status).toBe(200)
  return parseMetrics(body)
}

/** The phases of the events up to `last`. */
const phasesUntil = async (client: SseClient, last: string): Promise<string[]> => {
  const phases: string[] = []
  while (phases.at(-1) !== last) phases.push((await client.nextOf('pipeline_status')).data.runtime.phase)
  return phases
}

describe('event streams', () => {
  it('send every phase of a pipeline in order, its errors and its removal', async () => {
    await createPipeline(service, 'told', { on_demand: true, ...SMALL })
    const client = await follow(service, '/svc/pipeline/told/status/events')
    expect(await phasesUntil(client, 'idle')).toEqual(['idle'])
    await command(service, 'told', 'play')
    expect(await phasesUntil(client, 'playing')).toEqual(['starting', 'playing'])
    await command(service, 'told', 'stop')
    expect((await phasesUntil(client, 'idle')).slice(-2)).toEqual(['stopping', 'idle'])

    await changeSettings(service, { start_timeout_seconds: 1 })
    const away = { mode: 'simple', on_demand: true, source: { uri: 'rtsp://bob:hunter2@127.0.0.1:9/none' } }
    await service.request('PUT', '/svc/pipeline/told', away)
    expect((await client.nextOf('pipeline_status')).data.source.uri).toBe('rtsp://***@127.0.0.1:9/none')
    expect((await command(service, 'told', 'play')).status).toBe(504)
    const error = await client.nextOf('pipeline_error')
    const [code, message] = [expect.any(String), expect.any(String)]
    const cause = expect.stringContaining('nothing listens')
    expect(error.data).toEqual({ pipeline_id: 'told', code, message, cause, reason: 'unreachable' })
    expect(JSON.stringify(error)).not.toContain('hunter2')
    await phasesUntil(client, 'failed')
    await service.request('DELETE', '/svc/pipeline/told')
    expect((await client.rest()).at(-1)).toMatchObject({ event: 'pipeline_not_found', data: { pipeline_id: 'told' } })
  })

  it('go on with a new engine after the first was killed, and end when the service stops', async () => {
    const killed = await startService()
    await createPipeline(killed, 'wanted', SMALL)
    const client = await follow(killed, '/svc/pipeline/wanted/status/events')
    const everything = await follow(killed, '/svc/events')
    const before = await client.nextOf('pipeline_status')
    expect(before.data.runtime.phase).toBe('playing')
    await everything.nextOf('pipeline_status')

    process.kill(killed.enginePid(), 'SIGKILL')
    const { phase, since } = (await client.nextOf('pipeline_status')).data.runtime
    expect(since > before.data.runtime.since).toBe(true)
    const phases = [phase, ...(phase === 'playing' ? [] : await phasesUntil(client, 'playing'))]
    // Whatever it has been by the time it was asked: never back to idle.
    expect(['idle starting playing', 'starting playing', 'playing']).toContain(phases.join(' '))
    expect((await everything.nextOf('pipeline_status')).data.id).toBe('wanted')

    const stopped = killed.stop()
    expect((await client.rest()).every(({ event }) => event !== 'pipeline_not_found')).toBe(true)
    await everything.rest()
    expect(await stopped).toBe(0)
  })

  it('leave nothing behind when their clients disconnect', async () => {
    await createPipeline(service, 'followed', { on_demand: true })
    const { hostname, host, port } = new URL(service.url)
    const clients = async () => (await scrape()).value('svc_sse_clients')
    const sockets = Array.from({ length: 50 }, () => {
      const socket = createConnection({ host: hostname, port: Number(port) })
      socket.write(`GET /svc/pipeline/followed/status/events HTTP/1.1\r\nHost: ${host}\r\n\r\n`)
      return socket
    })
    await expect.poll(clients).toBe(50)
    for (const [at, socket] of sockets.entries()) at % 2 === 0 ? socket.resetAndDestroy() : socket.end()
    await expect.poll(clients).toBe(0)
    for (const socket of sockets) socket.destroy()
  })
})

describe('metrics', () => {
  it('show a pipeline, its reader, its restart and its removal', async () => {
    const labels = { pipeline_id: 'counted' }
    const reader = await read(await createPipeline(service, 'counted', SMALL))
    await reader.until(() => reader.count > 20)
    const { repeated, value } = await scrape()
    const of = (name: string) => value(`svc_pipeline_${name}`, labels) ?? 0
    expect([repeated, value('svc_engine_up'), value('svc_pipelines', { phase: 'playing' })]).toEqual([[], 1, 1])
    expect([of('readers'), value('svc_rtsp_connections')]).toEqual([1, 1])
    for (const name of ['frames_total', 'received_bytes_total', 'sent_bytes_total']) expect(of(name)).toBeGreaterThan(0)
    expect(of('resident_memory_bytes')).toBeGreaterThan(1_000_000)
    expect(value('svc_pipeline_first_frame_seconds_count')).toBeGreaterThan(0)
    expect(value('svc_engine_process_cpu_seconds_total')).toBeGreaterThan(0)
    reader.close()

    const [child = expect.fail('The engine has no child')] = childrenOf(service.enginePid())
    process.kill(child.pid, 'SIGKILL')
    const restarts = async () => (await scrape()).value('svc_pipeline_restarts_total', { ...labels, reason: 'crashed' })
    await expect.poll(restarts).toBe(1)
    expect((await scrape()).value('svc_pipeline_frames_total', labels)).toBeGreaterThanOrEqual(of('frames_total'))

    await command(service, 'counted', 'stop')
    const stopped = await scrape()
    expect(stopped.value('svc_pipeline_playing', labels)).toBe(0)
    expect(stopped.value('svc_pipeline_sent_bytes_total', labels)).toBeGreaterThanOrEqual(of('sent_bytes_total'))
    expect(stopped.value('svc_pipeline_resident_memory_bytes', labels)).toBeUndefined()
    await service.request('DELETE', '/svc/pipeline/counted')
    expect((await scrape()).text).not.toContain('counted')
  })
})

describe('a client of the HTTP server of Node', () => {
  /** The server with nothing but a stream of events behind it. */
  const serveEvents = async () => {
    const feed = createEventFeed('p')
    const app: FetchHandler = async ({ signal }) => eventStream({ feed, filter: () => true, lastEventId: null, signal })
    const server = createHttpServer({ app, trustProxy: false, log: silentLog }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    onTestFinished(() => {
      server.close()
      server.closeAllConnections()
    })
    return { feed, server, port: (server.address() as AddressInfo).port }
  }

  it('costs no more memory with each event', async () => {
    const { feed, port } = await serveEvents()
    const client = followSse(await fetch(`http://127.0.0.1:${port}/`))
    /** How many promises are kept; asking collects the garbage. */
    const promises = (): number => queryObjects(Promise, { format: 'count' }) as number
    const publish = async (count: number): Promise<void> => {
      for (let sent = 0; sent < count; sent += 1) {
        feed.publish({ event: 'pipeline_status', pipelineId: 'a', data: sent })
        expect((await client.nextOf('pipeline_status')).data).toBe(sent)
      }
    }
    await publish(100)
    const before = promises()
    await publish(1000)
    expect(promises() - before).toBeLessThan(200)
    await client.leave()
  })

  it('is disconnected when it does not read, while one that reads receives everything', async () => {
    const { feed, server, port } = await serveEvents()
    const slow = createConnection({ host: '127.0.0.1', port }).pause()
    slow.on('error', () => {}).write('GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n')
    const quick = followSse(await fetch(`http://127.0.0.1:${port}/`))
    await expect.poll(() => feed.subscriberCount()).toBe(2)
    const text = 'x'.repeat(200_000)
    for (let sent = 1; feed.subscriberCount() === 2 && sent < 500; sent += 1) {
      feed.publish({ event: 'pipeline_status', pipelineId: 'a', data: text })
      expect((await quick.nextOf('pipeline_status')).id).toBe(`p-${sent}`)
    }
    expect(feed.subscriberCount()).toBe(1)
    const connections = () => new Promise<number>((resolve) => server.getConnections((_error, count) => resolve(count)))
    await expect.poll(connections).toBe(1)
    await quick.leave()
  })
})
