import { once } from 'node:events'
import { type AddressInfo, createConnection } from 'node:net'
import { queryObjects } from 'node:v8'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { FetchHandler } from '../../handlers/app.ts'
import { eventStream } from '../../handlers/http/streams/sse.ts'
import { createHttpServer } from '../../handlers/node/server/http-server.ts'
import { createEventFeed } from '../../lib/events/feed.ts'
import { parseMetrics } from '../helpers/api/prometheus.ts'
import { followSse, type SseClient } from '../helpers/api/sse-client.ts'
import { type Service, startService } from '../helpers/process/service.ts'
import { until } from '../helpers/until.ts'

const BALL = { mode: 'simple', source: { uri: 'test://ball?width=160&height=120&fps=15' } }

const create = async (service: Service, id: string, more: Record<string, unknown> = {}): Promise<void> => {
  const { status, body } = await service.request('POST', '/svc/pipeline', { id, ...BALL, ...more })
  expect({ status, message: body.message }).toEqual({ status: 201, message: undefined })
}

const follow = async (service: Service, path: string, headers: Record<string, string> = {}): Promise<SseClient> => {
  const response = await fetch(`${service.url}${path}`, { headers })
  expect(response.status).toBe(200)
  return followSse(response)
}

const clients = async (service: Service): Promise<number | undefined> =>
  parseMetrics((await service.request('GET', '/svc/metrics')).body).value('svc_sse_clients')

/** The phases of the events up to `last`. */
const phasesUntil = async (client: SseClient, last: string): Promise<string[]> => {
  const phases: string[] = []
  while (phases.at(-1) !== last) phases.push((await client.nextOf('pipeline_status')).data.runtime.phase)
  return phases
}

describe('event streams', () => {
  it('send every phase of a pipeline in order, its errors and its removal', async () => {
    const service = await startService()
    await create(service, 'told', { on_demand: true })
    const client = await follow(service, '/svc/pipeline/told/status/events')
    expect(await phasesUntil(client, 'idle')).toEqual(['idle'])
    await service.request('PUT', '/svc/pipeline/told/play')
    expect(await phasesUntil(client, 'playing')).toEqual(['starting', 'playing'])
    await service.request('PUT', '/svc/pipeline/told/stop')
    expect((await phasesUntil(client, 'idle')).slice(-2)).toEqual(['stopping', 'idle'])

    const away = { ...BALL, on_demand: true, source: { uri: 'rtsp://bob:hunter2@127.0.0.1:9/none' } }
    await service.request('PUT', '/svc/settings', { start_timeout_seconds: 1 })
    await service.request('PUT', '/svc/pipeline/told', { id: 'told', ...away })
    expect((await client.nextOf('pipeline_status')).data.source.uri).toBe('rtsp://***@127.0.0.1:9/none')
    expect((await service.request('PUT', '/svc/pipeline/told/play')).status).toBe(504)
    const error = await client.nextOf('pipeline_error')
    expect(error.data).toEqual({
      pipeline_id: 'told',
      code: expect.any(String),
      message: expect.any(String),
      cause: expect.stringContaining('nothing listens'),
      reason: 'unreachable',
    })
    expect(JSON.stringify(error)).not.toContain('hunter2')
    expect((await phasesUntil(client, 'failed')).at(-1)).toBe('failed')

    await service.request('DELETE', '/svc/pipeline/told')
    expect((await client.rest()).at(-1)).toMatchObject({ event: 'pipeline_not_found', data: { pipeline_id: 'told' } })
    expect(await service.stop()).toBe(0)
  })

  it('go on with a new engine after the first was killed, and end when the service stops', async () => {
    const service = await startService()
    await create(service, 'wanted')
    const client = await follow(service, '/svc/pipeline/wanted/status/events')
    const everything = await follow(service, '/svc/events')
    const before = await client.nextOf('pipeline_status')
    expect(before.data.runtime.phase).toBe('playing')
    await everything.nextOf('pipeline_status')

    process.kill(service.enginePid(), 'SIGKILL')
    const told = await client.nextOf('pipeline_status')
    expect(told.data.runtime.since > before.data.runtime.since).toBe(true)
    const phases = [told.data.runtime.phase, ...(told.data.runtime.phase === 'playing' ? [] : await phasesUntil(client, 'playing'))]
    // Whatever it has been by the time it was asked: never back to idle.
    expect(['idle starting playing', 'starting playing', 'playing']).toContain(phases.join(' '))
    expect((await everything.nextOf('pipeline_status')).data.id).toBe('wanted')

    const stopped = service.stop()
    expect((await client.rest()).every(({ event }) => event !== 'pipeline_not_found')).toBe(true)
    await everything.rest()
    expect(await stopped).toBe(0)
  })

  it('leave nothing behind when their clients disconnect', async () => {
    const service = await startService()
    await create(service, 'followed', { on_demand: true })
    const { hostname, port } = new URL(service.url)
    const sockets = Array.from({ length: 50 }, () => {
      const socket = createConnection({ host: hostname, port: Number(port) })
      socket.write(`GET /svc/pipeline/followed/status/events HTTP/1.1\r\nHost: ${hostname}:${port}\r\n\r\n`)
      return socket
    })
    await until(
      () => clients(service),
      (count) => count === 50,
    )
    for (const [at, socket] of sockets.entries()) {
      if (at % 2 === 0) socket.resetAndDestroy()
      else socket.end()
    }
    await until(
      () => clients(service),
      (count) => count === 0,
    )
    for (const socket of sockets) socket.destroy()
    await service.stop()
  })
})

/** How many promises are kept; asking collects the garbage. */
const promises = (): number => queryObjects(Promise, { format: 'count' }) as number

/** The HTTP server of Node with nothing but a stream of events behind it. */
const serveEvents = async () => {
  const feed = createEventFeed('p')
  const log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }
  const app: FetchHandler = async ({ signal }) => eventStream({ feed, filter: () => true, lastEventId: null, signal })
  const server = createHttpServer({ app, trustProxy: false, log }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.close()
    server.closeAllConnections()
  })
  return { feed, server, port: (server.address() as AddressInfo).port }
}

describe('a client that stays', () => {
  it('costs no more memory with each event', async () => {
    const { feed, port } = await serveEvents()
    const client = followSse(await fetch(`http://127.0.0.1:${port}/`))
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
})

describe('a client that does not read', () => {
  it('is disconnected, while one that reads receives everything', async () => {
    const { feed, server, port } = await serveEvents()
    const slow = createConnection({ host: '127.0.0.1', port }).pause()
    slow.on('error', () => {})
    slow.write('GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n')
    const quick = followSse(await fetch(`http://127.0.0.1:${port}/`))
    await until(
      () => feed.subscriberCount(),
      (count) => count === 2,
    )
    const text = 'x'.repeat(200_000)
    let sent = 0
    while (feed.subscriberCount() === 2 && sent < 500) {
      sent += 1
      feed.publish({ event: 'pipeline_status', pipelineId: 'a', data: text })
      expect((await quick.nextOf('pipeline_status')).id).toBe(`p-${sent}`)
    }
    expect(feed.subscriberCount()).toBe(1)
    const connections = () =>
      new Promise<number>((resolve, reject) => server.getConnections((error, count) => (error ? reject(error) : resolve(count))))
    await until(connections, (count) => count === 1)
    await quick.leave()
  })
})
