import { describe, expect, it, onTestFinished } from 'vitest'
import { RtpStream } from '../../../../engine/rtp/stream.ts'
import type { Picture, PictureOrder } from '../../../../engine/screenshots/decode/picture-maker.ts'
import { DecodeSlots } from '../../../../engine/screenshots/decode/slots.ts'
import { Periodic } from '../../../../engine/screenshots/periodic.ts'
import { PipelineScreenshots } from '../../../../engine/screenshots/pipeline-screenshots.ts'
import { Snapshots } from '../../../../engine/screenshots/snapshots.ts'
import { ApiError } from '../../../../lib/errors.ts'
import { silentLog } from '../../../helpers/rtsp/media.ts'
import { until } from '../../../helpers/until.ts'

/** An intra-coded or predicted H.264 picture of one packet, RFC 4571 framed. */
let sequence = 0
const unit = (key: boolean): Buffer => {
  sequence += 1
  const packet = Buffer.alloc(16)
  packet.writeUInt16BE(14, 0)
  packet[2] = 0x80
  packet[3] = 0x80 | 96
  packet.writeUInt16BE(sequence & 0xffff, 4)
  packet.writeUInt32BE(sequence * 3000, 6)
  packet[14] = key ? 0x65 : 0x41
  return packet
}
const streamOf = (): RtpStream => {
  const stream = new RtpStream()
  stream.begin()
  stream.setCaps({ media: 'video', encodingName: 'H264', payload: 96, clockRate: 90000, parameters: new Map() })
  return stream
}

/** Makes a picture of whatever was ordered, and remembers what that was. */
const makerOf = (stream: RtpStream) => {
  const orders: PictureOrder[] = []
  const make = async (order: PictureOrder): Promise<Picture> => {
    orders.push(order)
    const gop = order.keyFrameOf ?? stream.gop
    if (gop === undefined) throw new ApiError('CONFLICT', 'nothing', { reason: 'no_frame' })
    return {
      jpeg: Buffer.from([0xff, 0xd8, 0xff, 0xd9]),
      width: 2,
      height: 2,
      frameMs: order.keyFrameOf ? gop.keyArrivedMs : gop.newestArrivedMs,
    }
  }
  return { orders, make }
}

const start = (stream: RtpStream, intervalSeconds: number) => {
  const maker = makerOf(stream)
  const stored: Picture[] = []
  const periodic = new Periodic({
    stream,
    maker,
    store: async (picture) => {
      stored.push(picture)
    },
    onFault: () => {},
  })
  onTestFinished(() => periodic.stop())
  periodic.start({ interval_seconds: intervalSeconds, quality: 85 })
  return { periodic, stored, ...maker }
}
const count = (stored: readonly unknown[], least: number) =>
  until(
    () => stored.length,
    (length) => length >= least,
  )

describe('periodic pictures', () => {
  it('take the key frame that comes while they wait', async () => {
    const stream = streamOf()
    for (const key of [true, false, false]) stream.ingest(unit(key))
    const { orders, stored } = start(stream, 3600)
    expect(orders).toEqual([])
    stream.ingest(unit(true))
    await count(stored, 1)
    expect(orders[0]?.keyFrameOf?.units.map(({ key }) => key)).toEqual([true])
    expect(stored[0]?.frameMs).toBe(stream.gop?.keyArrivedMs)
  })

  it('show the newest frame when no key frame comes within a fifth of the interval', async () => {
    const stream = streamOf()
    for (const key of [true, false, false]) stream.ingest(unit(key))
    const { orders, stored } = start(stream, 1)
    await count(stored, 1)
    expect(orders[0]?.keyFrameOf).toBeUndefined()
    expect(stored[0]?.frameMs).toBe(stream.gop?.newestArrivedMs)
  })

  it('pause while the source is away, show nothing twice, and go on with its first key frame', async () => {
    const stream = streamOf()
    stream.ingest(unit(true))
    const { orders, stored } = start(stream, 0.05)
    await count(stored, 1)
    stream.ingest(unit(false))
    await count(stored, 2)
    stream.end()
    const made = orders.length
    await new Promise((resolve) => setTimeout(resolve, 200))
    expect([orders.length, stored.length]).toEqual([made, 2])
    stream.begin()
    stream.setCaps({ media: 'video', encodingName: 'H264', payload: 96, clockRate: 90000, parameters: new Map() })
    stream.ingest(unit(true))
    await count(stored, 3)
    expect(orders.at(-1)?.keyFrameOf).toBeDefined()
  })

  it('end at stop, at once, and take a new interval at once', async () => {
    const stream = streamOf()
    stream.ingest(unit(true))
    const { periodic, stored } = start(stream, 3600)
    await count(stored, 1)
    periodic.start({ interval_seconds: 0.02, quality: 10 })
    expect(periodic.wish).toEqual({ interval_seconds: 0.02, quality: 10 })
    stream.ingest(unit(true))
    await count(stored, 2)
    periodic.stop()
    stream.ingest(unit(true))
    await new Promise((resolve) => setTimeout(resolve, 100))
    expect([periodic.wish, stored.length]).toEqual([undefined, 2])
  })
})

describe('snapshots', () => {
  const picture = (frameMs: number): Picture => ({ jpeg: Buffer.from([frameMs & 0xff]), width: 2, height: 2, frameMs })

  it('are made once for however many ask at the same time, and again after a second', async () => {
    let now = 1000
    let made = 0
    const gate = Promise.withResolvers<void>()
    const snapshots = new Snapshots(
      {
        make: async () => {
          made += 1
          await gate.promise
          return picture(made)
        },
      },
      () => now,
    )
    const many = Array.from({ length: 200 }, () => snapshots.take({ quality: 85, width: null }))
    gate.resolve()
    const [first, ...others] = await Promise.all(many)
    expect(made).toBe(1)
    for (const other of others) expect(other).toBe(first)
    now += 999
    expect(await snapshots.take({ quality: 85, width: null })).toBe(first)
    expect((await snapshots.take({ quality: 84, width: null })).etag).not.toBe(first?.etag)
    expect(made).toBe(2)
    now += 1
    expect(await snapshots.take({ quality: 85, width: null })).not.toBe(first)
    expect(made).toBe(3)
  })

  it('do not remember a failure', async () => {
    let made = 0
    const snapshots = new Snapshots({
      make: async () => {
        made += 1
        if (made === 1) throw new ApiError('ENGINE_ERROR', 'no')
        return picture(made)
      },
    })
    await expect(snapshots.take({ quality: 85, width: null })).rejects.toThrow('no')
    expect(await snapshots.take({ quality: 85, width: null })).toMatchObject({ frameMs: 2 })
  })
})

describe('the pictures of a pipeline', () => {
  const picturesOf = (status: { playing: boolean; publishes: boolean }) => {
    let changes = 0
    const screenshots = new PipelineScreenshots({
      id: 'cam-1',
      stream: streamOf(),
      store: { put: async () => Promise.reject(new Error('unused')), trim: async () => {} },
      slots: new DecodeSlots({ running: 1, waiting: 1 }),
      status: () => status,
      onChange: () => {
        changes += 1
      },
      emit: () => {},
      now: () => Date.now(),
      log: silentLog,
    })
    onTestFinished(() => screenshots.close())
    return { screenshots, changes: () => changes }
  }
  const wish = { interval_seconds: 7, quality: 50 }
  const defaults = { interval_seconds: 10, quality: 85 }

  it('are refused with a reason while it does not play, or has no output', async () => {
    for (const [status, reason] of [
      [{ playing: false, publishes: true }, 'not_playing'],
      [{ playing: true, publishes: false }, 'no_pay0'],
      [{ playing: false, publishes: false }, 'no_pay0'],
    ] as const) {
      const { screenshots } = picturesOf(status)
      expect(() => screenshots.start(wish, { resume: false })).toThrow(expect.objectContaining({ code: 'CONFLICT', details: { reason } }))
      await expect(screenshots.snapshot({ quality: 85, width: null })).rejects.toMatchObject({ code: 'CONFLICT', details: { reason } })
    }
  })

  it('are refused with a reason while no frame has come', async () => {
    const { screenshots } = picturesOf({ playing: true, publishes: true })
    await expect(screenshots.snapshot({ quality: 85, width: null })).rejects.toMatchObject({
      code: 'CONFLICT',
      details: { reason: 'no_frame' },
    })
  })

  it('show as playing while they are wished and it plays', () => {
    const status = { playing: false, publishes: true }
    const { screenshots, changes } = picturesOf(status)
    screenshots.start(wish, { resume: true })
    expect(screenshots.view(defaults)).toEqual({ state: 'stopped', ...wish })
    status.playing = true
    expect(screenshots.view(defaults)).toEqual({ state: 'playing', ...wish })
    screenshots.stop()
    screenshots.stop()
    expect(screenshots.view(defaults)).toEqual({ state: 'stopped', ...defaults })
    expect(changes()).toBe(2)
  })
})
