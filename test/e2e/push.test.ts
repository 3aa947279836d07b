import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { KlvDemuxer } from '../../engine/mpegts/klv-demuxer.ts'
import { toHex } from '../fixtures/klv/hex.ts'
import { gstKlv } from '../helpers/klv/reader.ts'
import { startMediaServer } from '../helpers/media/media-server.ts'
import { create, pushesOf, states } from '../helpers/media/pushes.ts'
import { decodeFrames, expectDecoded, type Receiver, saveStream } from '../helpers/media/receivers.ts'
import { freePort, freeUdpPort } from '../helpers/ports.ts'
import { childrenOf, isAlive, processes } from '../helpers/process/processes.ts'
import { startService } from '../helpers/process/service.ts'
import { temporaryDataDir } from '../helpers/process/temporary-data-dir.ts'
import { openReader, sequenceGaps } from '../helpers/rtsp/reader.ts'
import { startRtspSource } from '../helpers/rtsp/source.ts'
import { until } from '../helpers/until.ts'

const FRAMES = 120
const PACKET_BYTES = 188

/** Whole packets, and how many of them do not follow the one before with the same PID. */
const readPackets = (file: string) => {
  const all = readFileSync(file)
  const bytes = all.subarray(0, all.length - (all.length % PACKET_BYTES))
  const last = new Map<number, number>()
  let [gaps, pictures] = [0, 0]
  for (let at = 0; at < bytes.length; at += PACKET_BYTES) {
    const [pid, counter] = [bytes.readUInt16BE(at + 1) & 0x1fff, (bytes[at + 3] ?? 0) & 15]
    const before = last.get(pid)
    if (before !== undefined && counter !== ((before + 1) & 15)) gaps += 1
    if ((bytes.readUInt16BE(at + 1) & 0x5fff) === 0x4100) pictures += 1
    last.set(pid, counter)
  }
  return { bytes, gaps, pictures }
}

const klvOf = (bytes: Buffer): readonly string[] => new KlvDemuxer().push(bytes).map((unit) => toHex(unit.bytes))

/** What both have, and what `received` has between the first and the last of it. */
const overlap = (received: readonly string[], expected: readonly string[]) => {
  const common = expected.filter((packet) => received.includes(packet))
  return { common, between: received.slice(received.indexOf(common[0] ?? ''), received.lastIndexOf(common.at(-1) ?? '') + 1) }
}

describe('pushes', () => {
  it('reach receivers over SRT, UDP, RTMP and RTSP: every frame decodes, and KLV is byte for byte that of the source', async () => {
    const [source, server, service] = await Promise.all([startRtspSource(), startMediaServer(), startService()])
    onTestFinished(() => source.stop())
    onTestFinished(() => server.stop())
    const [caller, listener, unicast, multicast] = [await freeUdpPort(), await freeUdpPort(), await freeUdpPort(), await freeUdpPort()]
    const rtmp = await freePort()
    const folder = temporaryDataDir()
    const [srtFile, udpFile] = [join(folder, 'srt.ts'), join(folder, 'udp.ts')]

    const saved = saveStream(`srtsrc uri=srt://127.0.0.1:${caller}?mode=listener`, srtFile)
    saveStream(`udpsrc address=127.0.0.1 port=${unicast} buffer-size=4194304`, udpFile)
    const byGroup = decodeFrames(['-i', `udp://239.77.7.7:${multicast}?localaddr=127.0.0.1&buffer_size=4194304`], FRAMES)
    const byRtmp = decodeFrames(['-listen', '1', '-i', `rtmp://127.0.0.1:${rtmp}/live/key`], FRAMES)
    const url = await create(service, 'drone', {
      source: { uri: source.url('/klv'), latency_ms: 0 },
      klv_config: { pass_klv: true },
      push: [
        { uri: `srt://127.0.0.1:${caller}` },
        { uri: `srt://127.0.0.1:${listener}?mode=listener` },
        { uri: `udp://127.0.0.1:${unicast}` },
        { uri: `udp://239.77.7.7:${multicast}?iface=lo` },
        { uri: `rtmp://127.0.0.1:${rtmp}/live/key` },
        { uri: server.publishUrl('klv-drone') },
      ],
    })
    const [byCaller, expected] = await Promise.all([
      decodeFrames(['-i', `srt://127.0.0.1:${listener}?mode=caller`], FRAMES),
      gstKlv(url, 60),
      until(
        () => states(service, 'drone'),
        (all) => all.every((state) => state === 'sending'),
      ),
    ])
    await server.line((line) => line.available === 'klv-drone')
    const byRtsp = decodeFrames(['-rtsp_transport', 'tcp', '-i', `rtsp://127.0.0.1:${server.port}/klv-drone`], FRAMES)
    for (const [name, receiver] of Object.entries({ byCaller, byGroup, byRtmp, byRtsp })) await expectDecoded(name, receiver, FRAMES)
    expect(saved.child.exitCode).toBeNull()
    for (const file of [srtFile, udpFile]) {
      const { bytes, gaps, pictures } = readPackets(file)
      expect([gaps, pictures > FRAMES]).toEqual([0, true])
      const { common, between } = overlap(klvOf(bytes), expected)
      expect(common.length).toBeGreaterThan(30)
      expect(between).toEqual(common)
      await expectDecoded(file, decodeFrames(['-i', file], FRAMES), FRAMES)
    }
    const shown = await pushesOf(service, 'drone')
    expect(shown.map(({ bytes }) => bytes > 100_000)).toEqual(shown.map(() => true))
    expect((await service.request('GET', '/svc/pipeline/drone')).body.runtime.readers).toBe(0)

    await service.request('PUT', '/svc/pipeline/drone/stop')
    expect(await states(service, 'drone')).toEqual(shown.map(() => 'idle'))
    expect(childrenOf(service.enginePid()).filter(({ command }) => command.includes('gst-launch'))).toEqual([])
    await service.stop()
  }, 120_000)

  it('come back with their receiver, without the source, a reader or another push noticing', async () => {
    const [rtmp, srt, nobody] = [await freePort(), await freeUdpPort(), await freePort()]
    const [server, service] = await Promise.all([startMediaServer(), startService()])
    onTestFinished(() => server.stop())
    const steady = saveStream(
      `srtsrc uri=srt://127.0.0.1:${srt}?mode=listener&passphrase=correct-horse`,
      join(temporaryDataDir(), 'steady.ts'),
    )
    const receive = (): Receiver => decodeFrames(['-listen', '1', '-i', `rtmp://127.0.0.1:${rtmp}/live/key`], 100_000)
    let receiver = receive()
    const url = await create(service, 'cam', {
      source: { uri: 'test://ball?width=320&height=240&fps=30' },
      push: [
        { uri: `rtmp://127.0.0.1:${rtmp}/live/key` },
        { uri: `srt://127.0.0.1:${srt}?passphrase=correct-horse` },
        { uri: `rtmp://viewer:battery-staple@127.0.0.1:${nobody}/live/key` },
        { uri: `rtsp://127.0.0.1:${server.port}/nowhere` },
      ],
    })
    const state = async (at: number): Promise<string | undefined> => (await states(service, 'cam'))[at]
    const isSending = (one: string | undefined): boolean => one === 'sending'
    await until(() => state(0), isSending)
    await until(() => state(1), isSending)
    const reader = await openReader(url)
    // The arguments of a push are blanked, those of a test source are not.
    const sources = () =>
      childrenOf(service.enginePid())
        .filter(({ command }) => command.includes('fd=3'))
        .map(({ pid }) => pid)
    const before = sources()
    expect(before).toHaveLength(1)
    for (let kill = 1; kill <= 3; kill += 1) {
      await receiver.kill()
      await until(
        () => state(0),
        (one) => one === 'waiting',
      )
      receiver = receive()
      await until(() => state(0), isSending)
    }
    expect([sources(), sequenceGaps(reader.packets)]).toEqual([before, []])
    expect(steady.child.exitCode).toBeNull()
    const shown = await pushesOf(service, 'cam')
    expect(shown.map(({ uri }) => uri)).toEqual([
      `rtmp://127.0.0.1:${rtmp}/live/key`,
      `srt://127.0.0.1:${srt}?passphrase=***`,
      `rtmp://***@127.0.0.1:${nobody}/live/key`,
      `rtsp://127.0.0.1:${server.port}/nowhere`,
    ])
    expect(shown[1]).toMatchObject({ state: 'sending', last_error: null })
    expect(shown[2]?.last_error).toMatchObject({ code: 'ENGINE_ERROR', message: expect.stringContaining('refuses the connection') })
    expect(shown[3]?.last_error).toMatchObject({ code: 'ENGINE_ERROR', message: expect.stringContaining('404') })
    expect(shown[2]?.bytes).toBe(0)

    const { body: log } = await service.request('GET', '/svc/pipeline/cam/log')
    const lines = (log as readonly { readonly line: string }[]).map(({ line }) => line)
    expect(lines).toContainEqual(expect.stringMatching(/^push 3: unreachable: /))
    const { body: metrics } = await service.request('GET', '/svc/metrics')
    expect(metrics).toMatch(/svc_push_state\{pipeline_id="cam",push="2",state="sending"\} 1/)
    const told = [JSON.stringify(shown), lines.join(), metrics, service.log.join()].join()
    expect(told).not.toMatch(/battery-staple|correct-horse/)
    const args = processes().map(({ command }) => command)
    expect(args.filter((line) => line.includes('gst-launch-1.0') && line.includes('srtsink'))).toEqual([])
    reader.close()
    await service.stop()
  }, 90_000)

  it('let nobody connect without a passphrase while readers need a password', async () => {
    const [open, closed] = [await freeUdpPort(), await freeUdpPort()]
    const service = await startService()
    await create(service, 'gate', {
      source: { uri: 'test://ball?width=320&height=240&fps=30' },
      push: [{ uri: `srt://:${open}?mode=listener` }, { uri: `srt://:${closed}?mode=listener&passphrase=correct-horse` }],
    })
    const received = decodeFrames(['-i', `srt://127.0.0.1:${open}`], 100_000)
    const isSending = ([state]: readonly string[]): boolean => state === 'sending'
    await until(() => states(service, 'gate'), isSending)
    const password = (authentication: string) =>
      service.request('PUT', '/svc/settings', { readers: { authentication, password: 'battery-staple' } })
    expect((await password('password')).status).toBe(200)
    await received.ended
    const [first, second] = await until(
      () => pushesOf(service, 'gate'),
      ([push]) => push?.state === 'waiting',
    )
    expect(first?.last_error?.message).toContain('Add a passphrase')
    expect(second?.last_error).toBeNull()
    const { code } = await decodeFrames(['-i', `srt://127.0.0.1:${closed}?passphrase=correct-horse`], 30).ended
    expect(code).toBe(0)
    await service.stop()
  }, 60_000)

  it('wait for the name of a receiver that has no address, also over UDP, and say so', async () => {
    const service = await startService()
    const schemes = ['udp', 'rtsp', 'rtsps', 'srt', 'rtmp']
    await create(service, 'lost', {
      source: { uri: 'test://ball?width=320&height=240&fps=30' },
      push: schemes.map((scheme) => ({ uri: `${scheme}://no-such-host.invalid:9000/live/key` })),
    })
    const pushes = await until(
      () => pushesOf(service, 'lost'),
      (all) => all.every(({ state }) => state === 'waiting'),
    )
    for (const push of pushes) {
      expect(push).toMatchObject({
        bytes: 0,
        last_error: { message: expect.stringContaining('The host name of the receiver has no address') },
      })
    }
    expect(pushes.length).toBe(schemes.length)
    await service.stop()
  }, 60_000)

  it('start nothing, keep nothing playing, and end with an engine that is killed', async () => {
    const port = await freeUdpPort()
    const service = await startService()
    await service.request('PUT', '/svc/settings', { on_demand: { close_after_seconds: 1 } })
    const url = await create(service, 'idle', {
      source: { uri: 'test://ball?width=320&height=240' },
      on_demand: true,
      push: [{ uri: `udp://127.0.0.1:${port}` }],
    })
    expect(await states(service, 'idle')).toEqual(['idle'])
    const reader = await openReader(url)
    await until(
      () => states(service, 'idle'),
      ([state]) => state === 'sending',
    )
    reader.close()
    await until(
      () => states(service, 'idle'),
      ([state]) => state === 'idle',
    )
    const stateOf = async (): Promise<string> => (await service.request('GET', '/svc/pipeline/idle')).body.state
    await until(stateOf, (state) => state === 'ready')

    await service.request('PUT', '/svc/pipeline/idle/play')
    await until(
      () => states(service, 'idle'),
      ([state]) => state === 'sending',
    )
    const engine = service.enginePid()
    const children = childrenOf(engine).map(({ pid }) => pid)
    expect(children.length).toBeGreaterThan(1)
    process.kill(engine, 'SIGKILL')
    await until(
      () => children.filter(isAlive),
      (left) => left.length === 0,
    )
    await until(
      () => states(service, 'idle').catch(() => []),
      ([state]) => state === 'sending',
    )
    await service.stop()
  }, 60_000)
})
