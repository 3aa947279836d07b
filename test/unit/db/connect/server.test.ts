import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { connectToServer } from '../../../../db/connect/server.ts'
import { startHttpServer } from '../../../helpers/http-server.ts'

afterEach(() => vi.useRealTimers())

/** A server that takes requests and answers none. */
const startSilentServer = async () => {
  const requests = { taken: 0, further: () => {} }
  const { server, url } = await startHttpServer(() => {
    requests.taken += 1
    requests.further()
  })
  return {
    url,
    taken: () => requests.taken,
    /** Resolves when that many have come. */
    untilTaken: (count: number) =>
      new Promise<void>((resolve) => {
        requests.further = () => requests.taken >= count && resolve()
        requests.further()
      }),
    drop: () => server.closeAllConnections(),
  }
}

const faultOf = (answer: Promise<unknown>): Promise<string> =>
  answer.then(
    () => 'answered',
    (error: unknown) => String(error),
  )

const collectGarbage = (): void => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  for (let round = 0; round < 5; round += 1) collect()
}

describe('a libSQL server that takes requests and answers none', () => {
  it('fails a statement after 10 s, although garbage was collected meanwhile', async () => {
    const server = await startSilentServer()
    vi.useFakeTimers()
    const failed = faultOf(connectToServer({ url: server.url }).client.execute('SELECT 1'))
    await server.untilTaken(1)
    collectGarbage()
    await vi.advanceTimersByTimeAsync(10_000)
    expect(await failed).toContain('no answer within 10 s')
  })

  it('fails the statements that wait for others at the same time, and never sends them', async () => {
    const server = await startSilentServer()
    vi.useFakeTimers()
    const { client } = connectToServer({ url: server.url })
    const failed = Array.from({ length: 50 }, () => faultOf(client.execute('SELECT 1')))
    await server.untilTaken(20)
    await vi.advanceTimersByTimeAsync(10_000)
    expect(await Promise.all(failed)).not.toContain('answered')
    const next = faultOf(client.execute('SELECT 2'))
    await server.untilTaken(21)
    server.drop()
    await next
    expect(server.taken()).toBe(21)
  })
})
