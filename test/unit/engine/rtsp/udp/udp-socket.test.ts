import { createSocket } from 'node:dgram'
import { expect, it, onTestFinished } from 'vitest'
import { bindUdp, connectUdp } from '../../../../../engine/rtsp/udp/udp-socket.ts'

it('a UDP port that cannot be connected is told', async () => {
  const socket = await bindUdp('127.0.0.1', 0)
  onTestFinished(() => void socket.close())
  // Broadcast, which a socket has to ask for.
  await expect(connectUdp(socket, 5000, '255.255.255.255')).rejects.toThrow(/connect/)
  const reader = createSocket('udp4')
  onTestFinished(() => void reader.close())
  await new Promise<void>((resolve) => reader.bind(0, '127.0.0.1', resolve))
  await connectUdp(socket, reader.address().port, '127.0.0.1')
  expect(socket.remoteAddress().port).toBe(reader.address().port)
})
