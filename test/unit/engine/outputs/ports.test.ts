import { once } from 'node:events'
import { createServer } from 'node:net'
import { describe, expect, it } from 'vitest'
import { findFreePort } from '../../../../engine/outputs/ports.ts'
import { freePort } from '../../../helpers/ports.ts'

/** Runs with a port that another socket uses at an address. */
const withUsedPort = async (host: string, test: (port: number) => Promise<void>) => {
  const server = createServer().listen(0, host)
  await once(server, 'listening')
  const address = server.address()
  try {
    await test(typeof address === 'object' && address ? address.port : 0)
  } finally {
    server.close()
  }
}

describe('the port of an output', () => {
  it('is the lowest that no other output has', async () => {
    const first = await freePort()
    expect(await findFreePort({ first, last: first }, '127.0.0.1', () => false)).toBe(first)
    await expect(findFreePort({ first, last: first }, '127.0.0.1', () => true)).rejects.toMatchObject({
      details: { reason: 'no_free_port' },
    })
  })

  it('is the shared one for all, while the others listen there', () =>
    withUsedPort('127.0.0.1', async (port) => {
      const shared = { first: port, last: port, shared: true } as const
      expect(await findFreePort(shared, '127.0.0.1', () => true)).toBe(port)
      await expect(findFreePort(shared, '127.0.0.1', () => false)).rejects.toMatchObject({ details: { reason: 'no_free_port' } })
    }))

  it('may be used by another program at another address', () =>
    withUsedPort('127.0.0.2', async (port) => {
      expect(await findFreePort({ first: port, last: port }, '127.0.0.1', () => false)).toBe(port)
      await expect(findFreePort({ first: port, last: port }, '0.0.0.0', () => false)).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' })
    }))
})
