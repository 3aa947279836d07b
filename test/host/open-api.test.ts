import { once } from 'node:events'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { hostname } from 'node:os'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createHttpServer } from '../../handlers/node/http-server.ts'
import type { Log } from '../../lib/ports.ts'
import { fetchAsHost } from '../helpers/api/fetch-as-host.ts'
import { followSse } from '../helpers/api/sse-client.ts'
import { ENGINE_TOKEN, startEngine } from '../helpers/process/engine-process.ts'
import { startLibsqlServer } from '../helpers/process/libsql-server.ts'
import { startService } from '../helpers/process/service.ts'
import { until } from '../helpers/until.ts'

const PASSWORD = 'correct horse battery staple'

const warningsOf = async (url: string): Promise<unknown> =>
  ((await (await fetch(`${url}/svc/health`)).json()) as { warnings?: unknown }).warnings

describe('an API that listens beyond loopback', () => {
  it('warns at start and in its health until a password is set, and again at no start after that', async () => {
    const service = await startService({ env: { SVC_HOST: '0.0.0.0' } })
    const line = await service.waitForLog('open_api_exposed')
    expect(line).toMatchObject({ level: 'warn', url: service.url, advice: expect.stringContaining('Set one') })
    const url = service.url.replace('0.0.0.0', '127.0.0.1')
    expect(await warningsOf(url)).toEqual(['open_api'])
    await fetch(`${url}/svc/auth/password`, { method: 'PUT', body: JSON.stringify({ password: PASSWORD }) })
    expect(await warningsOf(url)).toBeUndefined()
    await service.stop()

    const again = await startService({ dataDir: service.dataDir, env: { SVC_HOST: '0.0.0.0' } })
    expect(again.log.join('\n')).not.toContain('open_api_exposed')
    expect(await warningsOf(again.url.replace('0.0.0.0', '127.0.0.1'))).toBeUndefined()
    await again.stop()
  })

  it.each(['127.0.0.1', '::1', 'localhost'])('is not one at %s', async (host) => {
    const service = await startService({ env: { SVC_HOST: host } })
    expect(service.log.join('\n')).not.toContain('open_api_exposed')
    expect(await warningsOf(service.url)).toBeUndefined()
    await service.stop()
  })
})

describe('the names of the service', () => {
  it('are the name of the host and those of SVC_ALLOWED_HOSTS', async () => {
    const service = await startService({ env: { SVC_ALLOWED_HOSTS: 'video.example.org' } })
    const statusAs = async (host: string) =>
      (await fetchAsHost(new Request(`${service.url}/svc/pipeline`, { headers: { host: `${host}:8080` } }))).status
    expect([await statusAs(hostname()), await statusAs('video.example.org'), await statusAs('evil.test')]).toEqual([200, 200, 403])
    await service.stop()
  })
})

describe('a stream of events', () => {
  it('ends when another API process on the same database sets the password or ends the session', async () => {
    const server = await startLibsqlServer()
    const engine = await startEngine()
    const env = { SVC_DATABASE_URL: server.url, SVC_ENGINE_URL: engine.url, SVC_ENGINE_TOKEN: ENGINE_TOKEN }
    const [one, two] = await Promise.all([startService({ env }), startService({ env })])
    const secondsUntilEnd = async (headers: Record<string, string>, end: () => Promise<unknown>): Promise<number> => {
      const client = followSse(await fetch(`${two.url}/svc/events`, { headers }))
      await client.next()
      await end()
      const began = performance.now()
      await client.rest()
      return (performance.now() - began) / 1000
    }
    expect(await secondsUntilEnd({}, () => one.request('PUT', '/svc/auth/password', { password: PASSWORD }))).toBeLessThan(1)
    const { body } = await one.request('POST', '/svc/auth/login', { password: PASSWORD })
    const authorization = `Bearer ${body.token}`
    expect(
      await secondsUntilEnd({ authorization }, () => one.request('POST', '/svc/auth/logout', undefined, { authorization })),
    ).toBeLessThan(1)
    await Promise.all([one.stop(), two.stop()])
    await engine.kill()
  })
})

describe('the connections of one address', () => {
  const logged: string[] = []
  const write = (event: string): void => void logged.push(event)
  const log: Log = { debug: write, info: write, warn: write, error: write }

  const open = async (port: number): Promise<{ socket: Socket; closed: Promise<unknown> }> => {
    const socket = connect({ host: '127.0.0.1', port })
    onTestFinished(() => void socket.destroy())
    const closed = new Promise((resolve) => socket.once('close', resolve))
    socket.on('error', () => undefined)
    await once(socket, 'connect')
    return { socket, closed }
  }

  const start = async (trustProxy: boolean) => {
    // Times four: the client is this host.
    const server = createHttpServer({ app: async () => new Response('fine'), trustProxy, log, limits: { connectionsPerAddress: 2 } })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    onTestFinished(() => {
      server.close()
      server.closeAllConnections()
    })
    return { server, port: (server.address() as AddressInfo).port }
  }

  const isServed = async ({ socket }: { socket: Socket }): Promise<boolean> => {
    socket.write('GET / HTTP/1.1\r\nhost: localhost\r\n\r\n')
    const [first] = (await Promise.race([once(socket, 'data'), once(socket, 'close')])) as [unknown]
    return String(first).startsWith('HTTP/1.1 200')
  }

  it('are bounded: further ones are closed at once, and are taken again when others have gone', async () => {
    const { server, port } = await start(false)
    const clients = await Promise.all(Array.from({ length: 8 }, () => open(port)))
    expect(await Promise.all(clients.map(isServed))).toEqual(Array(8).fill(true))
    const refused = await Promise.all([open(port), open(port)])
    await Promise.all(refused.map(({ closed }) => closed))
    expect(logged).toEqual(['connection_refused'])
    expect(await Promise.all(clients.map(isServed))).toEqual(Array(8).fill(true))
    clients[0]?.socket.destroy()
    await until(
      () => new Promise<number>((resolve) => server.getConnections((_error, count) => resolve(count))),
      (count) => count === 7,
    )
    expect(await isServed(await open(port))).toBe(true)
  })

  it('are not bounded when all come from a trusted proxy', async () => {
    const { port } = await start(true)
    const clients = await Promise.all(Array.from({ length: 20 }, () => open(port)))
    expect(await Promise.all(clients.map(isServed))).toEqual(Array(20).fill(true))
  })
})
