import { createServer } from 'node:http'
import { Socket } from 'node:net'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { limitPerAddress } from '../../../../../handlers/node/server/limit-per-address.ts'
import { silentLog } from '../../../../helpers/rtsp/media.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['performance'] }))
afterEach(() => void vi.useRealTimers())

const start = () => {
  const server = createServer()
  const cut = limitPerAddress(server, { connections: 10, refuseMs: 10_000 }, silentLog)
  const connectFrom = (remoteAddress: string): Socket => {
    const socket = new Socket()
    Object.defineProperty(socket, 'remoteAddress', { value: remoteAddress })
    server.emit('connection', socket)
    return socket
  }
  return { cut, connectFrom }
}

it('a connection that floods takes all of its address with it, which is refused for a while, and no others', () => {
  const { cut, connectFrom } = start()
  const [first, second, other] = [connectFrom('192.0.2.1'), connectFrom('::ffff:192.0.2.1'), connectFrom('192.0.2.2')]
  cut(first)
  expect([first, second, other].map(({ destroyed }) => destroyed)).toEqual([true, true, false])
  vi.advanceTimersByTime(9_999)
  expect([connectFrom('192.0.2.1').destroyed, connectFrom('192.0.2.2').destroyed]).toEqual([true, false])
  vi.advanceTimersByTime(1)
  expect(connectFrom('192.0.2.1').destroyed).toBe(false)
})

it('a connection of this host that floods is closed alone: a proxy or another program may have the same address', () => {
  const { cut, connectFrom } = start()
  const [first, second] = [connectFrom('127.0.0.1'), connectFrom('127.0.0.1')]
  cut(first)
  expect([first.destroyed, second.destroyed, connectFrom('127.0.0.1').destroyed]).toEqual([true, false, false])
})
