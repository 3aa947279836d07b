import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import type { LineSink } from '../../../../engine/http/dispatch.ts'
import { writeLines } from '../../../../engine/http/lines.ts'
import { createEngineCaller } from '../../../../lib/engine/caller.ts'
import { readLines } from '../../../../lib/engine/lines.ts'
import { until } from '../../../helpers/until.ts'

/** Resolves to the port of the server, which closes with the test. */
const listen = async (server: Server): Promise<number> => {
  await once(server.listen(0, '127.0.0.1'), 'listening')
  onTestFinished(() => {
    server.close()
    server.closeAllConnections()
  })
  return (server.address() as AddressInfo).port
}

/** A client that asks, and reads when the test does. */
const ask = (port: number): Socket => {
  const client = connect(port, '127.0.0.1')
  onTestFinished(() => void client.destroy())
  client.write('GET / HTTP/1.1\r\nhost: engine\r\n\r\n')
  return client
}

/** A server whose every answer is a stream of lines. */
const serve = async (bounds: { readonly heartbeatMs: number; readonly maxBacklog: number }) => {
  const sinks = new Set<LineSink<unknown>>()
  let heartbeats = 0
  const server = createServer((_request, response) => {
    const source = (sink: LineSink<unknown>) => {
      sinks.add(sink)
      return () => void sinks.delete(sink)
    }
    writeLines(response, bounds, source, () => {
      heartbeats += 1
    })
  })
  const port = await listen(server)
  const caller = createEngineCaller({ address: () => ({ url: `http://127.0.0.1:${port}`, token: '' }) })
  const ending = new AbortController()
  const read = (silenceMs: number) => readLines(caller, { path: '/', silenceMs, signal: ending.signal })
  return { port, sinks, ending, read, heartbeats: () => heartbeats }
}

const NEVER_MS = 1_000_000

describe('lines from server to client', () => {
  it('begin with a heartbeat, then are the events in their order', async () => {
    const { sinks, read } = await serve({ heartbeatMs: NEVER_MS, maxBacklog: 1000 })
    const lines = read(5000)
    expect((await lines.next()).value).toEqual({ type: 'heartbeat' })
    for (const number of [1, 2, 3]) for (const sink of sinks) sink.push({ number, text: 'Zeile\nzwei' })
    for (const number of [1, 2, 3]) expect((await lines.next()).value).toEqual({ number, text: 'Zeile\nzwei' })
    await lines.return(undefined)
    await expect.poll(() => sinks.size).toBe(0)
  })

  it('have a heartbeat at each interval, each of which is a contact', async () => {
    const { read, heartbeats } = await serve({ heartbeatMs: 20, maxBacklog: 1000 })
    const lines = read(5000)
    for (let count = 0; count < 3; count += 1) expect((await lines.next()).value).toEqual({ type: 'heartbeat' })
    expect(heartbeats()).toBeGreaterThanOrEqual(2)
    await lines.return(undefined)
  })

  it('fail when the server falls silent, but not while the client is busy with a line', async () => {
    const { read, heartbeats } = await serve({ heartbeatMs: 100, maxBacklog: 1000 })
    const lines = read(500)
    await lines.next()
    // Busy for longer than the silence that it bears.
    await until(heartbeats, (count) => count >= 6)
    expect((await lines.next()).value).toEqual({ type: 'heartbeat' })
    await lines.return(undefined)
    const silent = (await serve({ heartbeatMs: NEVER_MS, maxBacklog: 1000 })).read(1000)
    await silent.next()
    await expect(silent.next()).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' })
  })

  it('end when the signal of the client aborts, and when the server ends them', async () => {
    const { read, ending, sinks } = await serve({ heartbeatMs: NEVER_MS, maxBacklog: 1000 })
    const aborted = read(5000)
    await aborted.next()
    const next = aborted.next()
    ending.abort()
    expect(await next).toEqual({ done: true, value: undefined })
    await expect.poll(() => sinks.size).toBe(0)
    const other = await serve({ heartbeatMs: NEVER_MS, maxBacklog: 1000 })
    const ended = other.read(5000)
    await ended.next()
    for (const sink of other.sinks) sink.end()
    expect(await ended.next()).toEqual({ done: true, value: undefined })
  })

  it('do not begin for a client that has gone before their source was there', async () => {
    const [source, onHeartbeat] = [vi.fn(() => () => {}), vi.fn()]
    const served = Promise.withResolvers<void>()
    const server = createServer((_request, response) => {
      response.once('close', () => {
        writeLines(response, { heartbeatMs: 10, maxBacklog: 1000 }, source, onHeartbeat)
        served.resolve()
      })
      client.destroy()
    })
    const client = ask(await listen(server))
    await served.promise
    await new Promise((resolve) => setTimeout(resolve, 50))
    expect([source.mock.calls, onHeartbeat.mock.calls]).toEqual([[], []])
  })

  it('are cut off for a client that does not read', async () => {
    const { port, sinks } = await serve({ heartbeatMs: NEVER_MS, maxBacklog: 100_000 })
    ask(port).pause()
    await expect.poll(() => sinks.size).toBe(1)
    await until(
      () => {
        for (const sink of sinks) sink.push({ filling: 'x'.repeat(100_000) })
        return sinks.size
      },
      (count) => count === 0,
    )
    expect(sinks.size).toBe(0)
  })
})
