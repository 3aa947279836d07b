import { afterAll, describe, expect, it } from 'vitest'
import type { PublisherLimits } from '../../../engine/mount/limits.ts'
import { makeCertificate } from '../../helpers/rtsp/certificate.ts'
import { beginStream } from '../../helpers/rtsp/packets.ts'
import { playing, publish } from '../../helpers/rtsp/publish.ts'
import { type RecordedPacket, type RtspReader, sequenceGaps } from '../../helpers/rtsp/reader.ts'

const UNIT_PACKETS = 70
const GOP = 10
const certificate = makeCertificate()

afterAll(() => certificate.remove())
/** A stream of 100 kB units, written as fast as the good reader receives them. */
const setUp = async (limits: Partial<PublisherLimits>, scheme = 'rtsp') => {
  const tls = scheme === 'rtsps' ? { tls: { files: certificate, required: true } } : {}
  const { stream, send } = beginStream()
  const { publisher, mount, port } = await publish([stream], { limits, ...tls })
  let unit = 0
  const feedUnit = () => {
    const header = unit % GOP === 0 ? 0x65 : 0x41
    unit += 1
    send(Array.from({ length: UNIT_PACKETS }, () => Buffer.alloc(1400, header)))
  }
  feedUnit()
  const open = (record: boolean) => playing(`${scheme}://127.0.0.1:${port}/cam`, { record })
  const feed = async (units: number, pace: RtspReader) => {
    for (let at = 0; at < units; at += 1) {
      feedUnit()
      await pace.until(() => pace.count >= unit * UNIT_PACKETS)
    }
  }
  return { publisher, mount, open, feed }
}

/** Packets that do not follow the one before them. */
const breaks = (packets: readonly RecordedPacket[]) =>
  packets.filter((packet, at) => at > 0 && packet.sequence !== (((packets[at - 1]?.sequence ?? 0) + 1) & 0xffff))

describe('a slow reader over TCP', () => {
  it.each(['rtsp', 'rtsps'])('loses whole GOPs, gets whole units, and does not affect other readers (%s)', async (scheme) => {
    const { mount, open, feed } = await setUp({ queuedBytes: 1_500_000, lagMs: 60_000, stalledMs: 60_000 }, scheme)
    const good = await open(true)
    const slow = await open(true)
    await slow.until(() => slow.count === UNIT_PACKETS)
    slow.stopReading()
    // More than the kernel buffers per connection, and more than the queue limit.
    await feed(150, good)
    slow.resumeReading()
    await feed(3 * GOP, good)
    const last = good.packets.at(-1)?.sequence
    await slow.until(() => slow.packets.at(-1)?.sequence === last)
    expect(sequenceGaps(good.packets)).toEqual([])
    expect(mount.stats.gopDrops).toBeGreaterThan(0)
    const gaps = breaks(slow.packets)
    expect(gaps.length).toBeGreaterThan(0)
    for (const packet of gaps) expect(packet.data[12]).toBe(0x65)
    const units = Map.groupBy(slow.packets, (packet) => packet.timestamp)
    for (const packets of units.values()) expect(packets.length).toBe(UNIT_PACKETS)
  })

  it.each(['rtsp', 'rtsps'])('is dropped when it reads nothing at all, and its resources are freed (%s)', async (scheme) => {
    const { publisher, mount, open, feed } = await setUp({ queuedBytes: 1_500_000, stalledMs: 200 }, scheme)
    const good = await open(true)
    const stuck = await open(false)
    await stuck.until(() => stuck.count > 0)
    stuck.stopReading()
    await feed(150, good)
    // The check runs every second; the good reader continues meanwhile.
    const end = performance.now() + 10_000
    while (mount.readers > 1 && performance.now() < end) await feed(1, good)
    expect([mount.readers, publisher.connections, sequenceGaps(good.packets)]).toEqual([1, 1, []])
  })
})
