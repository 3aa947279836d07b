import { hostname } from 'node:os'
import { afterEach, describe, expect, it } from 'vitest'
import { CotSender, type Position } from '../../../engine/cot/sender.ts'
import { createVideoUrl } from '../../../engine/cot/video-url.ts'
import type { Log } from '../../../lib/ports.ts'
import { geolocationOf } from '../../../lib/st0601/geolocation.ts'
import { flightPacket } from '../../../lib/st0601/synthetic-flight.ts'
import { decoded } from '../../fixtures/klv/local-set.ts'
import { receiveCotByTcp, receiveCotByUdp } from '../../helpers/klv/cot-receivers.ts'
import { until } from '../../helpers/until.ts'

const uidOf = (id: string): string => `${hostname()}/${id}`

const ends: (() => unknown)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
})

const positionOf = (id: string, ageMs = 0): Position => {
  const packet = decoded(flightPacket(Date.now() - ageMs))
  const geolocation = geolocationOf(packet) ?? expect.fail('no position')
  return { id, output: { uri: `rtsp://0.0.0.0:50000/${id}` }, packet, geolocation, arrivedMs: performance.now() - ageMs }
}

/** A sender of the positions of pipelines that fly until they are removed from `flying`. */
const startSender = (...ids: string[]) => {
  const flying = new Set(ids)
  const frozen = new Map<string, Position>()
  const logged: string[] = []
  const clock = { setBackMs: 0 }
  const note = (event: string): void => void logged.push(event)
  const log: Log = { debug: note, info: note, warn: note, error: note }
  const sender = new CotSender({
    positions: () => [...[...flying].map((id) => positionOf(id)), ...frozen.values()],
    videoUrl: createVideoUrl({ outputHost: '0.0.0.0', tlsOnly: false }),
    now: () => Date.now() - clock.setBackMs,
    log,
  })
  ends.push(() => sender.close())
  return { sender, flying, frozen, logged, clock }
}

const bindUdp = async (...args: Parameters<typeof receiveCotByUdp>) => {
  const receiver = await receiveCotByUdp(...args)
  ends.push(receiver.stop)
  return receiver
}

/** A receiver that can go away and come back on the same port. */
const serveTcp = async (port?: number) => {
  const receiver = await receiveCotByTcp(port)
  ends.push(receiver.stop)
  return receiver
}

const reach = (count: number, events: () => readonly unknown[]) => until(events, (list) => list.length >= count)

describe('Cursor on Target over UDP', () => {
  it('is a datagram per event and pipeline, no oftener than the interval', async () => {
    const receiver = await bindUdp('udp4', '127.0.0.1')
    const { sender } = startSender('uav-1', 'uav-2')
    sender.configure({ uri: `udp://127.0.0.1:${receiver.port}`, interval_ms: 200 })
    const began = Date.now()
    await reach(10, receiver.events)
    const most = Math.floor((Date.now() - began) / 200 + 1) * 2
    expect(receiver.events().length).toBeLessThanOrEqual(most)
    expect(new Set(receiver.events().map(({ event }) => event.uid))).toEqual(new Set(['uav-1', 'uav-2'].map(uidOf)))
    expect(receiver.events()[0]).toMatchObject({
      event: { type: 'a-f-A-M-F-Q', version: '2.0' },
      video: { url: expect.stringMatching(/^rtsp:\/\/127\.0\.0\.1:50000\/uav-[12]$/) },
    })
    expect(sender.counts()).toMatchObject({ dropped: 0, connected: true })
  })

  it.each([
    ['an IPv4 address', 'udp4', '127.0.0.1', '127.0.0.1'],
    ['an IPv6 address', 'udp6', '::1', '[::1]'],
    ['a multicast group', 'udp4', '0.0.0.0', '239.2.3.77'],
  ] as const)('reaches %s', async (_what, type, listensAt, host) => {
    const receiver = await bindUdp(type, listensAt)
    if (host === '239.2.3.77') receiver.join(host)
    const { sender } = startSender('uav-1')
    sender.configure({ uri: `udp://${host}:${receiver.port}`, interval_ms: 100 })
    await reach(2, receiver.events)
    expect(receiver.events()[0]?.event.uid).toBe(uidOf('uav-1'))
  })

  it('goes on while nobody receives, and is received again by one that comes back', async () => {
    const receiver = await bindUdp('udp4', '127.0.0.1')
    const { sender, logged } = startSender('uav-1')
    sender.configure({ uri: `udp://127.0.0.1:${receiver.port}`, interval_ms: 100 })
    await reach(1, receiver.events)
    receiver.stop()
    const { sent } = sender.counts()
    await expect.poll(() => sender.counts()).toSatisfy((counts) => counts.sent >= sent + 5)
    const back = await bindUdp('udp4', '127.0.0.1', receiver.port)
    await reach(2, back.events)
    expect(logged).toEqual(['cot_receiver_connected'])
  })

  it.each([
    ['a name that does not exist', 'udp://no-such-host.invalid:6969'],
    // Broadcast, which a socket has to ask for.
    ['an address that the kernel refuses', 'udp://255.255.255.255:6969'],
  ])('to %s is logged once, and tried again', async (_what, uri) => {
    const { sender, logged } = startSender('uav-1')
    sender.configure({ uri, interval_ms: 100 })
    await expect.poll(() => sender.counts()).toSatisfy(({ dropped }) => dropped >= 10)
    expect(logged).toEqual(['cot_receiver_lost'])
    expect(sender.counts()).toMatchObject({ sent: 0, connected: false })
  })
})

describe('Cursor on Target over TCP', () => {
  it('is a stream of XML documents', async () => {
    const receiver = await serveTcp()
    const { sender } = startSender('uav-1')
    sender.configure({ uri: `tcp://127.0.0.1:${receiver.port}`, interval_ms: 100 })
    await reach(5, receiver.events)
    expect(receiver.events().every(({ event }) => event.uid === uidOf('uav-1'))).toBe(true)
    expect(receiver.sockets.size).toBe(1)
  })

  it('comes back to a receiver that was away: what is fresh is sent at once, nothing stale', async () => {
    const receiver = await serveTcp()
    const { sender, frozen, logged } = startSender('uav-1')
    sender.configure({ uri: `tcp://127.0.0.1:${receiver.port}`, interval_ms: 200 })
    await reach(2, receiver.events)
    await receiver.stop()
    await expect.poll(() => logged).toContain('cot_receiver_lost')
    // One says nothing more but stays fresh for the test; the other becomes too old while the receiver is away.
    frozen.set('landed', { ...positionOf('landed'), arrivedMs: performance.now() + 60_000 })
    const old = positionOf('old', 4500)
    frozen.set('old', old)
    await expect.poll(() => sender.counts()).toSatisfy(({ dropped }) => dropped >= 5 && performance.now() - old.arrivedMs > 5000)
    const back = await serveTcp(receiver.port)
    const returned = Date.now()
    await reach(1, back.events)
    const [first] = back.events()
    // The newest, not the oldest: dated after the loss, by the time of its packet.
    expect(Date.parse(first?.event.time ?? '')).toBeGreaterThan(returned - 1000)
    await reach(4, back.events)
    const ids = new Set(back.events().map(({ event }) => event.uid))
    expect([...ids].sort()).toEqual(['landed', 'uav-1'].map(uidOf))
    for (const { event } of back.events()) expect(Date.parse(event.stale ?? '')).toBeGreaterThan(returned)
    expect(logged).toEqual(['cot_receiver_connected', 'cot_receiver_lost', 'cot_receiver_back'])
  })

  it('sends no oftener than the interval to a receiver that takes each event and closes', async () => {
    const receiver = await serveTcp()
    const { sender, logged } = startSender('uav-1')
    sender.configure({ uri: `tcp://127.0.0.1:${receiver.port}`, interval_ms: 60_000 })
    await reach(1, receiver.events)
    for (const socket of receiver.sockets) socket.destroy()
    await expect.poll(() => logged).toContain('cot_receiver_back')
    await new Promise((resolve) => setTimeout(resolve, 200))
    expect([receiver.events().length, sender.counts().sent]).toEqual([1, 1])
  })

  it.each([
    ['', 0],
    [', also when the clock of the host is set back', 3_600_000],
  ])('does not send a position that is older than five seconds, and needs no connection for it%s', async (_also, setBackMs) => {
    const receiver = await serveTcp()
    const { sender, frozen, flying, clock } = startSender()
    frozen.set('old', positionOf('old', 5001))
    clock.setBackMs = setBackMs
    sender.configure({ uri: `tcp://127.0.0.1:${receiver.port}`, interval_ms: 100 })
    await new Promise((resolve) => setTimeout(resolve, 500))
    expect([receiver.sockets.size, sender.counts()]).toEqual([0, { sent: 0, dropped: 0, connected: false }])
    flying.add('new')
    await reach(3, receiver.events)
    expect(receiver.events().map(({ event }) => event.uid)).not.toContain(uidOf('old'))
  })

  it('gives up a receiver that takes nothing, and keeps little for it', async () => {
    const receiver = await serveTcp()
    const { sender, logged } = startSender(...Array.from({ length: 1000 }, (_, at) => `uav-${at}`))
    sender.configure({ uri: `tcp://127.0.0.1:${receiver.port}`, interval_ms: 100 })
    await reach(1000, receiver.events)
    for (const socket of receiver.sockets) socket.pause()
    await expect.poll(() => logged).toContain('cot_receiver_lost')
    expect(sender.counts().dropped).toBeGreaterThan(0)
    // The next connection is read again.
    await expect.poll(() => logged).toContain('cot_receiver_back')
  })

  it('follows the settings: another receiver, another interval, none', async () => {
    const [one, other] = [await serveTcp(), await serveTcp()]
    const { sender } = startSender('uav-1')
    sender.configure({ uri: `tcp://127.0.0.1:${one.port}`, interval_ms: 100 })
    await reach(2, one.events)
    sender.configure({ uri: `tcp://127.0.0.1:${other.port}`, interval_ms: 100 })
    await reach(2, other.events)
    const [socket] = one.sockets
    await expect.poll(() => socket?.destroyed).toBe(true)
    const seen = one.events().length
    sender.configure({ uri: `tcp://127.0.0.1:${other.port}`, interval_ms: 60_000 })
    const before = sender.counts().sent
    await new Promise((resolve) => setTimeout(resolve, 400))
    expect(sender.counts().sent).toBe(before)
    sender.configure({ uri: null, interval_ms: 100 })
    expect(sender.counts().connected).toBeUndefined()
    expect(one.events()).toHaveLength(seen)
  })
})
