import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { afterEach, describe, expect, it } from 'vitest'
import { createEngineCaller } from '../../../../lib/engine/caller.ts'
import { createEngineClient } from '../../../../lib/engine/client.ts'
import { DEFAULT_SETTINGS } from '../../../../lib/schema/settings.ts'

let server: Server | undefined
afterEach(() => {
  server?.closeAllConnections()
  server?.close()
})

/** An engine that gives one answer to every call, and records the calls. */
const engine = async (answer: { status?: number; body?: unknown; text?: string; stream?: readonly string[] }) => {
  const asked: { method: string | undefined; url: string | undefined; authorization: string | undefined; body: string }[] = []
  server = createServer((request, response) => {
    let body = ''
    request.setEncoding('utf8').on('data', (text: string) => {
      body += text
    })
    request.on('end', () => {
      asked.push({ method: request.method, url: request.url, authorization: request.headers.authorization, body })
      response.writeHead(answer.status ?? 200, { 'content-type': 'application/json' })
      if (answer.stream === undefined) response.end(answer.text ?? JSON.stringify(answer.body ?? null))
      else for (const piece of answer.stream) response.write(piece)
    })
  })
  await new Promise<void>((resolve) => server?.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    asked,
    client: createEngineClient(createEngineCaller({ address: () => ({ url: `http://127.0.0.1:${port}`, token: 'secret' }) })).engine,
  }
}

describe('the engine client', () => {
  it('sends the bearer secret, and flags, parameters and bodies as the protocol has them', async () => {
    const { asked, client } = await engine({})
    await client.configure(DEFAULT_SETTINGS)
    await client.play('cam-1', { wait: true }).catch(() => {})
    await client.remove('cam-1', { force: true })
    expect(asked.map(({ method, url }) => `${method} ${url}`)).toEqual([
      'PUT /settings',
      'POST /pipelines/cam-1/play?wait',
      'DELETE /pipelines/cam-1?force',
    ])
    expect(asked.every(({ authorization }) => authorization === 'Bearer secret')).toBe(true)
    expect(JSON.parse(asked[0]?.body ?? '')).toEqual(DEFAULT_SETTINGS)
  })

  it('throws the error of the engine as it was', async () => {
    const { client } = await engine({ status: 409, body: { message: 'It runs.', code: 'CONFLICT', details: { reason: 'running' } } })
    await expect(client.stop('cam-1')).rejects.toMatchObject({
      code: 'CONFLICT',
      status: 409,
      message: 'It runs.',
      details: { reason: 'running' },
    })
  })

  it.each([
    ['no error of ours', { status: 404, body: { hello: 'world' } }],
    ['no JSON', { text: '<html>' }],
    ['an answer that is not as the protocol has it', { body: [{ id: 'cam-1' }] }],
    ['a secret that the engine does not know', { status: 401, body: { message: 'x', code: 'UNAUTHORIZED', details: {} } }],
    ['a failure inside the engine', { status: 500, body: { message: 'x', code: 'INTERNAL_ERROR', details: {} } }],
  ])('treats %s as an engine that is not available', async (_what, answer) => {
    const { client } = await engine(answer)
    await expect(client.list()).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE', details: { reason: 'engine_unavailable' } })
  })

  it('is not available while no address is known, or nobody listens there', async () => {
    const unknown = createEngineClient(createEngineCaller({ address: () => undefined })).engine
    await expect(unknown.status()).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' })
    const nobody = createEngineClient(createEngineCaller({ address: () => ({ url: 'http://127.0.0.1:1', token: '' }) })).engine
    await expect(nobody.status()).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' })
  })

  it('reads events that come in pieces, and ends when the engine ends', async () => {
    const { client } = await engine({ stream: ['{"type":"heart', 'beat"}\n{"type":"pipeline_removed",', '"id":"a","revision":7}\n'] })
    const events = client.events(new AbortController().signal)[Symbol.asyncIterator]()
    expect((await events.next()).value).toEqual({ type: 'heartbeat' })
    expect((await events.next()).value).toEqual({ type: 'pipeline_removed', id: 'a', revision: 7 })
    const next = events.next()
    server?.closeAllConnections()
    await expect(next).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' })
  })

  it('ends a stream when its signal aborts, however often garbage was collected since', async () => {
    const { client } = await engine({ stream: ['{"type":"heartbeat"}\n'] })
    const stopping = new AbortController()
    const events = client.events(stopping.signal)[Symbol.asyncIterator]()
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
})
