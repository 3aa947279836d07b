import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { networkInterfaces } from 'node:os'
import { describe, expect, it, onTestFinished } from 'vitest'
import { openDatagramPort } from '../../../engine/rtsp/publisher/sinks/datagram-port.ts'
import type { RtpPort } from '../../../engine/rtsp/publisher/sinks/rtp-port.ts'
import { loadSegmentation } from '../../../engine/rtsp/publisher/sinks/segmented-port.ts'
import { closeUdpPair, openUdpPair } from '../../../engine/rtsp/publisher/sinks/udp-pair.ts'
import { openFiles } from '../../helpers/process/processes.ts'
import { until } from '../../helpers/until.ts'

/** Packets of these sizes, each filled with its number. */
const datagrams = (sizes: readonly number[]) => {
  const starts = [0]
  for (const size of sizes) starts.push((starts.at(-1) ?? 0) + size)
  const data = Buffer.concat(sizes.map((size, number) => Buffer.alloc(size, number)))
  return { data, starts }
}

const receive = async (address: string) => {
  const socket = createSocket(address.includes(':') ? 'udp6' : 'udp4')
  const packets: Buffer[] = []
  socket.on('message', (packet) => packets.push(packet))
  socket.bind(0, address)
  await once(socket, 'listening')
  onTestFinished(() => close(socket))
  return { socket, packets, port: socket.address().port }
}

const close = (socket: Socket): void => {
  try {
    socket.close()
  } catch {
    // Closed by the test.
  }
}

const sendAll = async (port: RtpPort, sizes: readonly number[]): Promise<void> => {
  const batch = datagrams(sizes)
  for (let at = 0; at < sizes.length; ) {
    at += port.send(batch, at, 40)
    if (at < sizes.length) await new Promise((resolve) => setTimeout(resolve, 1))
  }
}

const PORTS = {
  UDP_SEGMENT: async (addresses: Parameters<typeof openDatagramPort>[0]) => {
    const open = await loadSegmentation()
    if (open === undefined) throw new Error('The C library cannot be called here')
    return open(addresses)
  },
  'node:dgram': openDatagramPort,
}

describe.each(Object.entries(PORTS))('a port by %s', (_name, open) => {
  const openTo = async (address: string, remotePort: number): Promise<RtpPort> => {
    const port = await open({ localAddress: address, remoteAddress: address, remotePort })
    onTestFinished(() => port.close())
    return port
  }

  it.each([
    ['of one size', Array.from({ length: 100 }, () => 1400)],
    ['of an access unit', [26, 8, ...Array.from({ length: 30 }, () => 1400), 311]],
    ['that grow', [100, 200, 300, 1400]],
    ['that shrink', [1400, 300, 200, 100]],
    ['of sizes that alternate', Array.from({ length: 60 }, (_, at) => (at % 2 === 0 ? 1400 : 40))],
    ['too large for one packet of Ethernet', [40_000, 40_000, 9000]],
  ])('sends packets %s, in order and whole', async (_which, sizes) => {
    const { packets, port } = await receive('127.0.0.1')
    await sendAll(await openTo('127.0.0.1', port), sizes)
    await expect.poll(() => packets.length).toBe(sizes.length)
    expect(packets.map((packet) => [packet.length, packet[0]])).toEqual(sizes.map((size, number) => [size, number]))
  })

  it('sends over IPv6', async () => {
    const { packets, port } = await receive('::1')
    await sendAll(await openTo('::1', port), [1400, 1400, 12])
    await expect.poll(() => packets.length).toBe(3)
    expect(packets.map(({ length }) => length)).toEqual([1400, 1400, 12])
  })

  it('says since when the port of the reader is closed, and forgets it when it is open again', async () => {
    const { socket, port: remote } = await receive('127.0.0.1')
    const port = await openTo('127.0.0.1', remote)
    await sendAll(port, [100])
    expect(port.refusedSinceMs).toBeUndefined()
    socket.close()
    const refusedSince = async () => {
      await sendAll(port, [100])
      return port.refusedSinceMs
    }
    const since = await until(refusedSince, (refused) => refused !== undefined)
    await expect.poll(async () => performance.now() - ((await refusedSince()) ?? Number.NaN)).toBeGreaterThan(1500)
    expect(port.refusedSinceMs).toBe(since)
    const again = createSocket('udp4').bind(remote, '127.0.0.1')
    onTestFinished(() => close(again))
    await expect.poll(refusedSince).toBe(undefined)
  })
})

describe('a path with a small MTU', () => {
  const LOCAL = '10.98.7.1'
  const REMOTE = '10.98.7.2'

  /** Another host behind a link that carries 1300 bytes; its program prints the length of what it receives. */
  const otherHost = async () => {
    const name = `udp${process.pid}`
    const ip = (...args: string[]) => execFileSync('ip', args, { stdio: ['ignore', 'ignore', 'pipe'] })
    onTestFinished(() => {
      spawnSync('ip', ['netns', 'delete', name])
    })
    ip('netns', 'add', name)
    ip('link', 'add', name, 'mtu', '1300', 'type', 'veth', 'peer', 'name', 'eth0', 'netns', name)
    ip('address', 'add', `${LOCAL}/30`, 'dev', name)
    ip('link', 'set', name, 'up')
    ip('-n', name, 'address', 'add', `${REMOTE}/30`, 'dev', 'eth0')
    ip('-n', name, 'link', 'set', 'eth0', 'mtu', '1300', 'up')
    const program = `require('node:dgram').createSocket('udp4').on('message', (m) => console.log(m.length)).bind(5004, '${REMOTE}', () => console.log('ready'))`
    const child = spawn('ip', ['netns', 'exec', name, process.execPath, '-e', program], { stdio: ['ignore', 'pipe', 'inherit'] })
    onTestFinished(async () => {
      child.kill()
      await once(child, 'exit')
    })
    let output = ''
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      output += text
    })
    const lines = () => output.split('\n').filter((line) => line !== '')
    await until(lines, ([first]) => first === 'ready')
    return { lengths: () => lines().slice(1).map(Number) }
  }

  it('gets every packet, whether the kernel can split them on it or not', async () => {
    const { lengths } = await otherHost()
    expect(Object.values(networkInterfaces()).flatMap((addresses) => addresses?.map(({ address }) => address))).toContain(LOCAL)
    const pair = await openUdpPair({ localAddress: LOCAL, remoteAddress: REMOTE, rtpPort: 5004, rtcpPort: 5005 })
    onTestFinished(() => closeUdpPair(pair))
    const sizes = [...Array.from({ length: 20 }, () => 1400), 700, ...Array.from({ length: 20 }, () => 1200)]
    await sendAll(pair.rtp, sizes)
    expect(await until(lengths, (found) => found.length === sizes.length)).toEqual(sizes)
  })
})

it('a pair has an even port and the odd one above it, and leaves no descriptor open', async () => {
  const pairs = await Promise.all(
    Array.from({ length: 50 }, () =>
      openUdpPair({ localAddress: '127.0.0.1', remoteAddress: '127.0.0.1', rtpPort: 40_000, rtcpPort: 40_001 }),
    ),
  )
  const ports = pairs.map(({ rtp, rtcpPort }) => [rtp.port % 2, rtcpPort - rtp.port])
  expect(new Set(ports.map(String))).toEqual(new Set(['0,1']))
  const before = openFiles(process.pid)
  for (const pair of pairs) closeUdpPair(pair)
  await expect.poll(() => openFiles(process.pid)).toBeLessThanOrEqual(before - 100)
})
