import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { expect, it, onTestFinished } from 'vitest'
import { openUdpReceiver } from '../../../../../engine/rtsp/client/udp-receiver.ts'
import { until } from '../../../../helpers/until.ts'

const openSocket = async (address: string) => {
  const socket = createSocket('udp4')
  onTestFinished(() => void socket.close())
  const received: Buffer[] = []
  socket.on('message', (packet) => received.push(packet))
  socket.bind(0, address)
  await once(socket, 'listening')
  return { received, port: socket.address().port, send: (text: string, port: number) => socket.send(text, port, '127.0.0.1') }
}

const setUp = async (namedSource?: string) => {
  const receiver = await openUdpReceiver('127.0.0.1', '127.0.0.1')
  onTestFinished(() => receiver.close())
  const [rtp, rtcp]: [string[], string[]] = [[], []]
  receiver.listen({ onRtp: (packet) => rtp.push(`${packet}`), onRtcp: (packet) => rtcp.push(`${packet}`) }, namedSource)
  return { receiver, rtp, rtcp }
}

it('has an even port for RTP and the next one for RTCP (RFC 3550 section 11)', async () => {
  const { receiver } = await setUp()
  expect([receiver.rtpPort % 2, receiver.rtcpPort - receiver.rtpPort]).toEqual([0, 1])
})

it.each([
  ['the server alone', undefined, ['server']],
  ['the server and the source that it names', '127.0.0.2', ['other', 'server']],
])('takes packets of %s', async (_, namedSource, taken) => {
  const { receiver, rtp, rtcp } = await setUp(namedSource)
  const [server, other, third] = await Promise.all(['127.0.0.1', '127.0.0.2', '127.0.0.3'].map(openSocket))
  other?.send('other', receiver.rtpPort)
  third?.send('third', receiver.rtpPort)
  server?.send('server', receiver.rtpPort)
  server?.send('report', receiver.rtcpPort)
  await until(() => rtp.includes('server') && rtcp.length > 0, Boolean)
  expect([rtp.toSorted(), rtcp]).toEqual([taken, ['report']])
})

it('opens the path to the ports that the server names, and sends reports there', async () => {
  const { receiver } = await setUp()
  const [rtp, rtcp] = [await openSocket('127.0.0.1'), await openSocket('127.0.0.1')]
  receiver.openPath({ rtp: rtp.port, rtcp: undefined })
  receiver.openPath({ rtp: 0, rtcp: rtcp.port })
  receiver.sendRtcp(Buffer.from('report'), rtcp.port)
  receiver.sendRtcp(Buffer.from('nowhere'), undefined)
  await until(() => rtcp.received.length === 2 && rtp.received.length === 1, Boolean)
  expect(rtp.received[0]?.length).toBe(12)
  expect(`${rtcp.received[1]}`).toBe('report')
})
