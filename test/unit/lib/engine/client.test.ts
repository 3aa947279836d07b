import type { RequestListener } from 'node:http'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { describe, expect, it } from 'vitest'
import { createEngineCaller, type EngineAddress } from '../../../../lib/engine/caller.ts'
import { createEngineClient } from '../../../../lib/engine/client.ts'
import { EngineAvailability } from '../../../../lib/engine/engine-availability.ts'
import { DEFAULT_SETTINGS } from '../../../../lib/schema/settings.ts'
import { startHttpServer } from '../../../helpers/http-server.ts'

/** An engine that records its calls. */
const startEngine = async (answer: RequestListener, token = 'secret') => {
  const asked: { readonly line: string; readonly authorization: string | undefined; readonly body: string }[] = []
  const { server, url } = await startHttpServer(async (request, response) => {
    const body = Buffer.concat(await request.toArray()).toString()
    asked.push({ line: `${request.method} ${request.url}`, authorization: request.headers.authorization, body })
    answer(request, response)
  })
  return { url, token, asked, disconnect: () => server.closeAllConnections() }
}

const answering =
  (body: unknown, status = 200): RequestListener =>
  (_request, response) =>
    void response.writeHead(status, { 'content-type': 'application/json' }).end(typeof body === 'string' ? body : JSON.stringify(body))
const streaming =
  (...pieces: readonly string[]): RequestListener =>
  (_request, response) => {
    for (const piece of pieces) response.write(piece)
  }

const clientOf = (address: EngineAddress | undefined) => createEngineClient(createEngineCaller({ address: () => address }))
const setUp = async (answer: RequestListener) => {
  const engine = await startEngine(answer)
  return { ...engine, client: clientOf(engine) }
}

const NOT_AVAILABLE = { code: 'SERVICE_UNAVAILABLE', details: { reason: 'engine_unavailable' } }

describe('the engine client', () => {
  it('sends the bearer secret, and flags, parameters and bodies as the protocol has them', async () => {
    const { asked, client } = await setUp(answering(null))
    await client.engine.configure(DEFAULT_SETTINGS)
    await client.engine.play('cam-1', { wait: true }).catch(() => {})
    await client.engine.remove('cam-1', { force: true })
    expect(asked.map(({ line }) => line)).toEqual(['PUT /settings', 'POST /pipelines/cam-1/play?wait', 'DELETE /pipelines/cam-1?force'])
    expect(asked.every(({ authorization }) => authorization === 'Bearer secret')).toBe(true)
    expect(JSON.parse(asked[0]?.body ?? '')).toEqual(DEFAULT_SETTINGS)
  })

  it('throws the error of the engine as it was', async () => {
    const error = { message: 'It runs.', code: 'CONFLICT', details: { reason: 'running' } }
    const { client } = await setUp(answering(error, 409))
    await expect(client.engine.stop('cam-1')).rejects.toMatchObject({ status: 409, ...error })
  })

  it.each([
    ['no error of ours', answering({ hello: 'world' }, 404)],
    ['no JSON', answering('<html>')],
    ['an answer that is not as the protocol has it', answering([{ id: 'cam-1' }])],
    ['a secret that the engine does not know', answering({ message: 'x', code: 'UNAUTHORIZED', details: {} }, 401)],
    ['a failure inside the engine', answering({ message: 'x', code: 'INTERNAL_ERROR', details: {} }, 500)],
  ])('treats %s as an engine that is not available', async (_what, answer) => {
    const { client } = await setUp(answer)
    await expect(client.engine.list()).rejects.toMatchObject(NOT_AVAILABLE)
  })

  it.each([
    ['no address is known', undefined],
    ['nothing listens', { url: 'http://127.0.0.1:1', token: '' }],
  ])('has no engine while %s', async (_when, address) => {
    await expect(clientOf(address).engine.status()).rejects.toMatchObject(NOT_AVAILABLE)
  })

  it('reads events that come in pieces, and ends when the engine ends', async () => {
    const { client, disconnect } = await setUp(
      streaming('{"type":"heart', 'beat"}\n{"type":"pipeline_removed",', '"id":"a","revision":7}\n'),
    )
    const events = client.engine.events(new AbortController().signal)[Symbol.asyncIterator]()
    expect((await events.next()).value).toEqual({ type: 'heartbeat' })
    expect((await events.next()).value).toEqual({ type: 'pipeline_removed', id: 'a', revision: 7 })
    const next = events.next()
    disconnect()
    await expect(next).rejects.toMatchObject(NOT_AVAILABLE)
  })

  it('ends a stream when its signal aborts, however often garbage was collected since', async () => {
    const { client } = await setUp(streaming('{"type":"heartbeat"}\n'))
    const stopping = new AbortController()
    const events = client.engine.events(stopping.signal)[Symbol.asyncIterator]()
    await events.next()
    const next = events.next()
    setFlagsFromString('--expose-gc')
    const collect = runInNewContext('gc') as () => void
    for (let round = 0; round < 2; round += 1) {
      collect()
      await new Promise((resolve) => setImmediate(resolve))
    }
    stopping.abort()
    expect(await next).toEqual({ done: true, value: undefined })
  })

  it('shares the answers of reads, a picture as bytes', async () => {
    const { asked, client } = await setUp(answering([]))
    await Promise.all(Array.from({ length: 9 }, () => client.engine.list()))
    expect(asked).toHaveLength(2)
    const pictures = await Promise.all(Array.from({ length: 9 }, () => client.screenshots.snapshot('cam-1', { width: 80 })))
    expect(new Set(pictures.map(({ body }) => (body instanceof Uint8Array ? Buffer.from(body).toString() : body)))).toEqual(new Set(['[]']))
    expect(asked).toHaveLength(4)
  })
})

const HASH = { hash: '$argon2id$x' }
const good = answering(HASH)
const dying: RequestListener = ({ socket }) => void socket.destroy()
const dyingLate: RequestListener = ({ socket }, response) => {
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': 100 })
  response.write('{"hash"', () => socket.destroy())
}

describe('a call while the engine is replaced', () => {
  const waiting = () => {
    const availability = new EngineAvailability()
    const client = createEngineClient(createEngineCaller({ address: availability.address }), availability)
    return { availability, client, hash: () => client.passwords.hash({ password: 'x' }) }
  }

  it.each([
    ['before it answers', dying],
    ['in the middle of its answer', dyingLate],
  ])('is sent again when the engine ends %s', async (_when, ending) => {
    const { availability, hash } = waiting()
    const engines = [await startEngine(ending, 'a'), await startEngine(good, 'b')] as const
    availability.setAvailable(engines[0])
    const answer = hash()
    setTimeout(() => availability.expect(5000), 30)
    setTimeout(() => availability.setAvailable(engines[1]), 60)
    expect(await answer).toEqual(HASH)
    expect(engines.map(({ asked }) => asked.length)).toEqual([1, 1])
  })

  it('is sent twice at most: it may be what ends the engines', async () => {
    const { availability, hash } = waiting()
    const engines = [await startEngine(dying, 'a'), await startEngine(dying, 'b'), await startEngine(good, 'c')] as const
    availability.setAvailable(engines[0])
    const answer = expect(hash()).rejects.toMatchObject(NOT_AVAILABLE)
    setTimeout(() => availability.setAvailable(engines[1]), 30)
    setTimeout(() => availability.setAvailable(engines[2]), 500)
    await answer
    expect(engines.map(({ asked }) => asked.length)).toEqual([1, 1, 0])
  })

  it('is not sent again where its row does not allow it, and not when the engine refuses it', async () => {
    const { availability, client, hash } = waiting()
    const second = await startEngine(answering({ code: 'INTERNAL_ERROR', message: 'failed' }, 500), 'b')
    availability.setAvailable(await startEngine(dying, 'a'))
    const answer = expect(client.screenshots.remove('file.jpg')).rejects.toMatchObject(NOT_AVAILABLE)
    setTimeout(() => availability.setAvailable(second), 30)
    await answer
    expect(second.asked).toEqual([])
    await expect(hash()).rejects.toMatchObject(NOT_AVAILABLE)
    expect(second.asked).toHaveLength(1)
  })

  it('waits until the engine is there, unless it asks whether it is', async () => {
    const { availability, client, hash } = waiting()
    availability.expect(60_000)
    const answer = hash()
    await expect(client.engine.status()).rejects.toMatchObject(NOT_AVAILABLE)
    await expect(client.metrics.read()).rejects.toMatchObject(NOT_AVAILABLE)
    availability.setAvailable(await startEngine(good))
    expect(await answer).toEqual(HASH)
  })
})
