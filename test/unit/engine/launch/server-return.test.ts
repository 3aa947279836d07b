import { once } from 'node:events'
import { createServer, type Server } from 'node:net'
import { expect, it, onTestFinished, vi } from 'vitest'
import { onServerReturn } from '../../../../engine/launch/server-return.ts'
import { freePort } from '../../../helpers/ports.ts'

const LOOKS = { firstMs: 20, everyMs: 20 }
const HOST = '127.0.0.1'

const listen = async (port: number): Promise<{ readonly server: Server; readonly connections: () => number }> => {
  let connections = 0
  const server = createServer((socket) => {
    connections += 1
    socket.on('error', () => {}).resume()
  }).listen(port, HOST)
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  return { server, connections: () => connections }
}

const watch = (port: number, host = HOST) => {
  const callback = vi.fn()
  const end = onServerReturn({ host, port }, callback, LOOKS)
  onTestFinished(end)
  return { callback, end }
}

it('calls back once when a server that was away accepts connections', async () => {
  const port = await freePort()
  const { callback } = watch(port)
  await new Promise((resolve) => setTimeout(resolve, 100))
  expect(callback).not.toHaveBeenCalled()
  const { connections } = await listen(port)
  await expect.poll(() => callback.mock.calls.length).toBe(1)
  await new Promise((resolve) => setTimeout(resolve, 100))
  expect([callback.mock.calls.length, connections()]).toEqual([1, 1])
})

it('leaves a server alone that accepts connections at the first look, and one that is no longer waited for', async () => {
  const port = await freePort()
  const { connections } = await listen(port)
  const { callback } = watch(port)
  await expect.poll(connections).toBe(1)
  const later = await freePort()
  const ended = watch(later)
  ended.end()
  await listen(later)
  await new Promise((resolve) => setTimeout(resolve, 100))
  expect([callback.mock.calls.length, connections(), ended.callback.mock.calls.length]).toEqual([0, 1, 0])
})

it('goes on looking for a host whose name is unknown', async () => {
  const { callback } = watch(1, 'no-such-host.invalid')
  await new Promise((resolve) => setTimeout(resolve, 200))
  expect(callback).not.toHaveBeenCalled()
})
