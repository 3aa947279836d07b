import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createEngineCaller, type EngineAddress } from '../../../../lib/engine/caller.ts'
import { createEngineClient } from '../../../../lib/engine/client.ts'
import { EngineDoor } from '../../../../lib/engine/engine-availability.ts'

const HASH = { hash: '$argon2id$x' }

/** An engine that records its calls and answers as told. */
const engine = async (token: string, answer: RequestListener): Promise<EngineAddress & { readonly asked: string[] }> => {
  const asked: string[] = []
  const server = createServer((request, response) => {
    asked.push(`${request.method} ${request.url}`)
    answer(request, response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, token, asked }
}

const good: RequestListener = (_request, response) => void response.end(JSON.stringify(HASH))
const dying: RequestListener = ({ socket }) => void socket.destroy()
const cutOff: RequestListener = ({ socket }, response) => {
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': 100 })
  response.write('{"hash"', () => socket.destroy())
}

const setUp = () => {
  const door = new EngineDoor()
  return { door, client: createEngineClient(createEngineCaller({ address: door.address }), door) }
}

const hash = ({ passwords }: ReturnType<typeof setUp>['client']) => passwords.hash({ password: 'x' })

describe('a call while the engine is replaced', () => {
  it('is sent when the engine is there', async () => {
    const { door, client } = setUp()
    door.expect(5000)
    const answer = hash(client)
    door.open(await engine('a', good))
    expect(await answer).toEqual(HASH)
  })

  for (const [name, end] of [
    ['before it answers', dying],
    ['in the middle of its answer', cutOff],
  ] as const) {
    it(`is sent again when the engine ends ${name}`, async () => {
      const { door, client } = setUp()
      const first = await engine('a', end)
      const second = await engine('b', good)
      door.open(first)
      const answer = hash(client)
      setTimeout(() => door.expect(5000), 30)
      setTimeout(() => door.open(second), 60)
      expect(await answer).toEqual(HASH)
      expect([first.asked.length, second.asked.length]).toEqual([1, 1])
    })
  }

  it('is sent twice at most: it may be what ends the engines', async () => {
    const { door, client } = setUp()
    const engines = [await engine('a', dying), await engine('b', dying), await engine('c', good)] as const
    door.open(engines[0])
    const answer = expect(hash(client)).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' })
    setTimeout(() => door.open(engines[1]), 30)
    setTimeout(() => door.open(engines[2]), 500)
    await answer
    expect(engines.map(({ asked }) => asked.length)).toEqual([1, 1, 0])
  })

  it('is not sent again where its row does not allow it', async () => {
    const { door, client } = setUp()
    const second = await engine('b', good)
    door.open(await engine('a', dying))
    const answer = expect(client.screenshots.remove('file.jpg')).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' })
    setTimeout(() => door.open(second), 30)
    await answer
    expect(second.asked).toEqual([])
  })

  it('does not wait when it asks whether the engine is there', async () => {
    const { door, client } = setUp()
    door.expect(60_000)
    await expect(client.engine.status()).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' })
    await expect(client.metrics.read()).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' })
    door.shut()
  })

  it('is not sent again when the engine refuses it', async () => {
    const { door, client } = setUp()
    const refusing = await engine('a', (_request, response) => {
      response.writeHead(500).end(JSON.stringify({ code: 'INTERNAL_ERROR', message: 'failed' }))
    })
    door.open(refusing)
    await expect(hash(client)).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' })
    expect(refusing.asked).toHaveLength(1)
  })
})
