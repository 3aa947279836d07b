import { describe, expect, it, vi } from 'vitest'
import type { MountPoint } from '../../../../engine/mount/mount-point.ts'
import type { Reader } from '../../../../engine/mount/reader.ts'
import { Timeline } from '../../../../engine/rtp/timeline.ts'
import type { Channel } from '../../../../engine/webrtc/peer.ts'
import { Session } from '../../../../engine/webrtc/session.ts'
import { unitPackets } from '../../../../engine/webrtc/unit-packets.ts'
import { fakeTimersInEachTest } from '../../../helpers/fake-timers.ts'
import { silentLog } from '../../../helpers/rtsp/media.ts'
import { beginStream, H264_CAPS, IDR, rtpPacket, SLICE } from '../../../helpers/rtsp/packets.ts'

const KLV_CAPS = 'application/x-rtp, media=application, clock-rate=90000, encoding-name=SMPTE336M, payload=97, timestamp-offset=(uint)0'
const FRAME_MS = 40

/** A session on a mount and a peer that only remember what they are told, and a stream of pictures with a key frame each second. */
const setUp = (hasData = false) => {
  const options = { timeline: new Timeline(0), now: () => performance.now() }
  const { stream: video } = beginStream(options, H264_CAPS)
  const { stream: klv } = beginStream(options, KLV_CAPS)
  const sent: Buffer[] = []
  const opened: string[] = []
  const messages: Buffer[] = []
  const state = { readers: 0, reserved: true, ended: false, closed: false }
  const counters = { bytesOut: 0, gopDrops: 0 }
  const tracks = [
    { at: 0, stream: video },
    { at: 1, stream: klv },
  ]
  let reader: Reader | undefined
  const point: Pick<MountPoint, 'closed' | 'counters' | 'tracks' | 'senderReport' | 'add' | 'remove'> = {
    closed: false,
    counters,
    tracks,
    senderReport: () => undefined,
    add: (added) => {
      reader = added.reader
      state.readers += 1
    },
    remove: () => {
      state.readers -= 1
    },
  }
  const release = () => {
    state.reserved = false
  }
  const session = new Session({
    pipelineId: 'gate',
    admitted: { point: point as MountPoint, release },
    log: silentLog,
    onConnected: () => {},
    onEnd: () => {
      state.ended = true
    },
  })
  const channel = (label: string): Channel => ({
    label,
    queuedBytes: 0,
    maxMessageBytes: 1000,
    send: (message) => messages.push(message) > 0,
  })
  const peer = {
    local: { ufrag: '', password: '', fingerprint: '', setup: '', candidates: [] },
    send: (packet: Buffer) => void sent.push(Buffer.from(packet)),
    addCandidate: () => {},
    openChannel: (label: string) => {
      opened.push(label)
      return channel(label)
    },
    close: () => {
      state.closed = true
    },
  }
  const track = { ssrc: video.ssrc, payloadType: 102, packets: unitPackets(video, 'H264') }
  session.attach(peer, { streams: [video, klv], tracks: [track], hasData })
  video.onUnit((unit) => reader?.offer(0, unit))
  klv.onUnit((unit) => reader?.offer(1, unit))
  let frames = 0
  const feed = (bytes: number, withKlv = false): void => {
    const head = frames % 25 === 0 ? IDR : SLICE
    if (withKlv) klv.ingestPacket(rtpPacket({ sequence: frames, timestamp: frames * 3600, payload: Buffer.from([frames]) }))
    video.ingestPacket(rtpPacket({ sequence: frames, timestamp: frames * 3600, payload: Buffer.concat([head, Buffer.alloc(bytes, 1)]) }))
    frames += 1
  }
  return { session, sent, opened, messages, state, counters, feed, channel }
}

/** A REMB (draft-alvestrand-rmcat-remb) of this many bits per second. */
const remb = (bitrate: number): Buffer => {
  const out = Buffer.from('8fce0005000000010000000052454d420100000000000063', 'hex')
  const exponent = Math.max(0, Math.ceil(Math.log2(bitrate / 0x3ffff)))
  out.writeUIntBE(exponent * 2 ** 18 + Math.floor(bitrate / 2 ** exponent), 17, 3)
  return out
}

/** A picture loss indication (RFC 4585 section 6.3.1). */
const PLI = Buffer.from('81ce00020000000100000001', 'hex')

describe('a session', () => {
  fakeTimersInEachTest()

  it('that does not connect is gone after 10 s, and its place is free', async () => {
    const { session, state } = setUp()
    await vi.advanceTimersByTimeAsync(9900)
    expect(state).toMatchObject({ ended: false, reserved: true })
    await vi.advanceTimersByTimeAsync(200)
    expect([session.ended, state]).toEqual([true, { readers: 0, reserved: false, ended: true, closed: true }])
  })

  it('that connects is a reader until its peer is gone', async () => {
    const { session, state, sent, feed } = setUp()
    feed(100)
    session.onConnected()
    await vi.advanceTimersByTimeAsync(60_000)
    expect(state).toEqual({ readers: 1, reserved: false, ended: false, closed: false })
    expect(sent).toHaveLength(1)
    session.onEnded()
    expect(state).toEqual({ readers: 0, reserved: false, ended: true, closed: true })
  })

  it('whose player lacks a key frame gets its GOP once more, between the last picture and the next one, but not each time', async () => {
    const { session, sent, feed } = setUp()
    for (let picture = 0; picture < 5; picture += 1) feed(100)
    session.onConnected()
    feed(100)
    const before = sent.length
    session.onRtcp(PLI)
    const repeated = sent.slice(before)
    feed(100)
    const read = (packet: Buffer | undefined) => ({ sequence: packet?.readUInt16BE(2) ?? 0, timestamp: packet?.readUInt32BE(4) ?? 0 })
    const packets = [sent[before - 1], ...repeated, sent.at(-1)].map(read)
    expect(repeated.map((packet) => (packet[12] ?? 0) & 0x1f)).toEqual([5, 1, 1, 1, 1, 1])
    for (const [at, { sequence, timestamp }] of packets.slice(1).entries()) {
      expect((sequence - (packets[at]?.sequence ?? 0)) & 0xffff).toBe(1)
      expect(timestamp).toBeGreaterThan(packets[at]?.timestamp ?? 0)
    }
    for (let again = 0; again < 50; again += 1) session.onRtcp(PLI)
    expect(sent.length - before).toBeLessThan(6 * repeated.length)
  })

  it.each<[string, (session: Session, channel: Channel) => void]>([
    ['RTCP packets', (session) => session.onRtcp(Buffer.alloc(0))],
    ['messages', (session) => session.onMessage()],
    ['data channels', (session, channel) => session.onChannel(channel)],
  ])('that gets a flood of %s ends', (_name, act) => {
    const { session, state, channel } = setUp()
    session.onConnected()
    for (let at = 0; at < 4; at += 1) act(session, channel('other'))
    expect(state.ended).toBe(false)
    for (let at = 0; at < 3000; at += 1) act(session, channel('other'))
    expect(state).toMatchObject({ ended: true, closed: true, readers: 0 })
  })

  it('whose player can receive less than is sent loses whole GOPs, and begins again at a key frame', async () => {
    const { session, counters, sent, feed } = setUp()
    session.onConnected()
    // 25 pictures of 4 kB a second are 800 kbit/s.
    for (let at = 0; at < 100; at += 1) {
      feed(4000)
      await vi.advanceTimersByTimeAsync(FRAME_MS)
    }
    const before = sent.length
    expect(counters.gopDrops).toBe(0)
    for (let at = 0; at < 250; at += 1) {
      if (at % 25 === 0) session.onRtcp(remb(300_000))
      feed(4000)
      await vi.advanceTimersByTimeAsync(FRAME_MS)
    }
    const bits = sent.slice(before).reduce((sum, { length }) => sum + length * 8, 0)
    expect(counters.gopDrops).toBeGreaterThan(2)
    // Everything is tried now and then.
    expect(bits / 10).toBeLessThan(400_000)
    expect(bits / 10).toBeGreaterThan(200_000)
  })

  it('whose player estimated too little for a moment gets everything again within 10 s, though its estimate grows slowly', async () => {
    const { session, counters, feed } = setUp()
    session.onConnected()
    const play = async (seconds: number, estimate?: (second: number) => number) => {
      for (let at = 0; at < seconds * 25; at += 1) {
        if (estimate !== undefined && at % 25 === 0) session.onRtcp(remb(estimate(at / 25)))
        feed(4000)
        await vi.advanceTimersByTimeAsync(FRAME_MS)
      }
    }
    await play(5)
    // As browsers do: 8 % a second.
    const estimate = (second: number) => 100_000 * 1.08 ** second
    await play(10, estimate)
    const dropped = counters.gopDrops
    expect(dropped).toBeGreaterThan(0)
    await play(10, (second) => estimate(10 + second))
    expect(counters.gopDrops).toBe(dropped)
  })

  it('sends each KLV packet with the RTP time of its frame, on the channel of the player or on its own', async () => {
    const { session, feed, messages, opened, sent, channel } = setUp(true)
    session.onConnected()
    session.onChannel(channel('klv'))
    for (let at = 0; at < 5; at += 1) feed(10, true)
    const times = new Set(sent.map((packet) => packet.readUInt32BE(4)))
    expect(messages.map((message) => message.subarray(4))).toEqual([0, 1, 2, 3, 4].map((frame) => Buffer.from([frame])))
    expect(messages.map((message) => message.readUInt32BE())).toEqual([...times])
    await vi.advanceTimersByTimeAsync(2000)
    expect(opened).toEqual([])

    const waiting = setUp(true)
    waiting.session.onConnected()
    waiting.feed(10, true)
    expect(waiting.messages).toEqual([])
    await vi.advanceTimersByTimeAsync(1500)
    waiting.feed(10, true)
    expect([waiting.opened, waiting.messages.length]).toEqual([['klv'], 2])
    const late: Buffer[] = []
    waiting.session.onChannel({ ...channel('klv'), send: (message) => late.push(message) > 0 })
    waiting.feed(10, true)
    expect([waiting.messages.length, late.length]).toEqual([2, 1])
  })
})
