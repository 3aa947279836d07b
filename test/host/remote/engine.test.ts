import { execFile, execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { request as httpRequest } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it, onTestFinished } from 'vitest'
import { startHttpServer } from '../../helpers/http-server.ts'
import { freePort } from '../../helpers/ports.ts'
import { ENGINE_TOKEN, type EngineOptions, startEngine } from '../../helpers/process/engine-process.ts'
import { childrenOf } from '../../helpers/process/processes.ts'
import { startService } from '../../helpers/process/service.ts'
import { temporaryDataDir } from '../../helpers/process/temporary-data-dir.ts'
import { createPipeline, untilPhase, viewOf } from '../../helpers/service/pipelines.ts'
import { until } from '../../helpers/until.ts'

const run = promisify(execFile)
const ENGINE_ADDRESS = '10.99.0.2'

/** An engine that ends with the test. */
const start = async (options: EngineOptions = {}) => {
  const engine = await startEngine(options)
  onTestFinished(() => engine.kill())
  return engine
}
const startApi = (url: string, more: { prefix?: readonly string[]; env?: Record<string, string> } = {}) =>
  startService({ ...more, env: { SVC_ENGINE_URL: url, SVC_ENGINE_TOKEN: ENGINE_TOKEN, ...more.env } })

/** Two network namespaces, joined by a bridge that can be cut without a link-down on either side. Needs root. */
const joinTwoHosts = () => {
  const ip = (...args: string[]): void => void execFileSync('ip', args, { stdio: ['ignore', 'ignore', 'pipe'] })
  const [api, engine, middle] = ['a', 'e', 'm'].map((name) => `vps${process.pid}${name}`) as [string, string, string]
  onTestFinished(() => {
    for (const host of [api, engine, middle]) spawnSync('ip', ['netns', 'delete', host])
  })
  for (const host of [api, engine, middle]) {
    ip('netns', 'add', host)
    ip('-n', host, 'link', 'set', 'lo', 'up')
  }
  ip('-n', middle, 'link', 'add', 'switch', 'type', 'bridge', 'forward_delay', '0')
  ip('-n', middle, 'link', 'set', 'switch', 'up')
  for (const [host, port, address] of [
    [api, 'port1', '10.99.0.1'],
    [engine, 'port2', ENGINE_ADDRESS],
  ] as const) {
    ip('-n', middle, 'link', 'add', port, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', host)
    ip('-n', middle, 'link', 'set', port, 'master', 'switch', 'up')
    ip('-n', host, 'address', 'add', `${address}/24`, 'dev', 'eth0')
    ip('-n', host, 'link', 'set', 'eth0', 'up')
  }
  return {
    onApi: ['ip', 'netns', 'exec', api],
    onEngine: ['ip', 'netns', 'exec', engine],
    cut: () => ip('-n', middle, 'link', 'set', 'port2', 'nomaster'),
    join: () => ip('-n', middle, 'link', 'set', 'port2', 'master', 'switch'),
  }
}

describe('an engine on another host', () => {
  it('keeps streaming during a network outage, which the API reports in bounded time and recovers from within 2 s', async () => {
    const { onApi, onEngine, cut, join: rejoin } = joinTwoHosts()
    const engine = await start({ listen: '0.0.0.0:9100', prefix: onEngine })
    const service = await startApi(`http://${ENGINE_ADDRESS}:9100`, { prefix: onApi })
    /** Sends a request from the host of the API. */
    const ask = async (method: string, path: string, body?: unknown) => {
      const data = body === undefined ? [] : ['-d', JSON.stringify(body)]
      const curl = ['curl', '-s', '-m', '60', '-X', method, '-w', '\n%{http_code} %{time_total}', ...data, `${service.url}${path}`]
      const { stdout } = await run(onApi[0] ?? '', [...onApi.slice(1), ...curl])
      const [, text = '', status, seconds] = /^(.*)\n(\d+) (\S+)$/s.exec(stdout) ?? []
      return { status: Number(status), seconds: Number(seconds), body: text === '' ? undefined : JSON.parse(text) }
    }
    const created = await ask('POST', '/svc/pipeline', { id: 'far', mode: 'simple', source: { uri: 'test://ball?width=320&height=240' } })
    expect([created.status, created.body?.state]).toEqual([201, 'playing'])
    const children = () => childrenOf(engine.pid).map(({ pid }) => pid)
    const before = children()
    const { port } = new URL(created.body.output.uri.replace('rtsp:', 'http:'))
    const show = '-v error -rtsp_transport tcp -read_intervals %+9 -show_entries packet=pts_time -of csv=p=0'.split(' ')
    const reader = spawn(onEngine[0] ?? '', [...onEngine.slice(1), 'ffprobe', ...show, `rtsp://127.0.0.1:${port}/far`], {
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    let text = ''
    reader.stdout.setEncoding('utf8').on('data', (more: string) => {
      text += more
    })
    const read = once(reader, 'exit')

    cut()
    const during = [await ask('GET', '/svc/pipeline/far'), await ask('PUT', '/svc/pipeline/far/stop'), await ask('GET', '/svc/health')]
    expect(during.map(({ status }) => status)).toEqual([503, 503, 503])
    expect(during[0]?.body).toMatchObject({ code: 'SERVICE_UNAVAILABLE', details: { reason: 'engine_unavailable' } })
    expect(during[2]?.body).toMatchObject({ status: 'degraded', engine: 'unavailable', database: 'ok' })
    expect(Math.max(...during.map(({ seconds }) => seconds))).toBeLessThan(8)
    const last = await ask('GET', '/svc/pipeline')
    expect([last.status, last.seconds < 3]).toEqual([503, true])

    rejoin()
    const joinedAt = performance.now()
    const back = await until(
      () => ask('GET', '/svc/pipeline/far'),
      ({ status }) => status === 200,
    )
    // The limit is 2 s; a busy host may take longer.
    expect(performance.now() - joinedAt).toBeLessThan(8000)
    expect(back.body).toMatchObject({ state: 'playing', runtime: { restarts: 0, since: created.body.runtime.since } })
    await read
    const times = text.split('\n').map(Number.parseFloat).filter(Number.isFinite)
    expect(times.length).toBeGreaterThan(100)
    expect(Math.max(...times.slice(1).map((time, index) => time - (times[index] ?? 0)))).toBeLessThan(0.5)
    expect(await service.stop()).toBe(0)
    // The engine is not a child of the API process and outlives it.
    expect(children()).toEqual(before)
  })

  it('gets its pipelines again after a restart, and plays those that were playing', async () => {
    const engine = await start()
    const service = await startApi(engine.url)
    await createPipeline(service, 'far')
    await createPipeline(service, 'resting', { on_demand: true })
    await engine.kill()
    const away = await service.request('GET', '/svc/pipeline/far')
    expect([away.status, away.body.details?.reason]).toEqual([503, 'engine_unavailable'])
    await start({ listen: new URL(engine.url).host })
    await expect.poll(() => viewOf(service, 'far')).toMatchObject({ state: 'playing', runtime: { desired: 'playing' } })
    expect((await viewOf(service, 'resting')).state).toBe('ready')
  })

  it('is reached through a TLS proxy only when its certificate authority is known', async () => {
    const engine = await start()
    const folder = temporaryDataDir()
    const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')]
    const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost', '-days', '1']
    const request = ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-keyout', key, '-out', cert, ...subject]
    execFileSync('openssl', request, { stdio: 'ignore' })
    const proxy = createTlsServer({ key: readFileSync(key), cert: readFileSync(cert) }, (asked, answer) => {
      const { method, headers } = asked
      const passed = httpRequest(`${engine.url}${asked.url}`, { method, headers }, (reply) => {
        answer.writeHead(reply.statusCode ?? 502, reply.headers)
        reply.pipe(answer)
      })
      answer.once('close', () => passed.destroy())
      passed.once('error', () => answer.destroy())
      asked.pipe(passed)
    }).listen(0, 'localhost')
    await once(proxy, 'listening')
    onTestFinished(() => {
      proxy.closeAllConnections()
      proxy.close()
    })
    const url = `https://localhost:${(proxy.address() as AddressInfo).port}`
    const [trusting, stranger] = await Promise.all([startApi(url, { env: { NODE_EXTRA_CA_CERTS: cert } }), startApi(url)])
    expect((await trusting.request('GET', '/svc/health')).body).toMatchObject({ status: 'ok', engine: 'ok' })
    expect((await stranger.request('GET', '/svc/health')).body).toMatchObject({ engine: 'unavailable' })
  })

  it('is waited for where it starts after the API, which is no error', async () => {
    const listen = `127.0.0.1:${await freePort()}`
    const service = await startApi(`http://${listen}`)
    expect(await service.waitForLog('engine_awaited')).toMatchObject({ level: 'info' })
    const engine = await start({ listen })
    await service.waitForLog('engine_ready')
    expect(service.log.filter((line) => line.includes('"level":"error"'))).toEqual([])
    await engine.kill()
    expect(await service.waitForLog('engine_lost')).toMatchObject({ level: 'error' })
  })

  it('is not used when it speaks another protocol, and the log says why', async () => {
    const greeting = JSON.stringify({ version: '9.9.9', protocol: 99, configured: true })
    const other = await startHttpServer((_request, response) => response.setHeader('content-type', 'application/json').end(greeting))
    const service = await startApi(other.url)
    expect((await service.waitForLog('engine_lost')).error).toMatchObject({ message: expect.stringContaining('does not work with') })
    expect((await service.request('GET', '/svc/health')).body).toMatchObject({ status: 'degraded', engine: 'unavailable' })
    expect((await service.request('GET', '/svc/pipeline')).status).toBe(503)
  })

  it('is measured, and the API alone while it hangs', async () => {
    const engine = await start()
    const service = await startApi(engine.url)
    await createPipeline(service, 'counted')
    await untilPhase(service, 'counted', 'playing')
    const up = async () => /^svc_engine_up (\d)/m.exec((await service.request('GET', '/svc/metrics')).body)?.[1]
    expect(await up()).toBe('1')
    process.kill(engine.pid, 'SIGSTOP')
    expect(await up()).toBe('0')
    process.kill(engine.pid, 'SIGCONT')
    await expect.poll(up).toBe('1')
  })
})
