import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { gstKlv } from '../../helpers/klv/reader.ts'
import { openMediaServer } from '../../helpers/media/media-server.ts'
import { pushesOf, states, untilAllSend, untilSends } from '../../helpers/media/pushes.ts'
import { decodeFrames, expectDecoded, type Receiver, saveStream } from '../../helpers/media/receivers.ts'
import { counterGaps, countPictures, klvOf, overlap, wholePackets } from '../../helpers/media/transport-stream.ts'
import { freePort, freeUdpPort } from '../../helpers/ports.ts'
import { childrenOf, processes } from '../../helpers/process/processes.ts'
import { temporaryDataDir } from '../../helpers/process/temporary-data-dir.ts'
import { sequenceGaps } from '../../helpers/rtsp/reader.ts'
import { changeSettings, command, createPipeline, openSource, read, untilView, viewOf } from '../../helpers/service/pipelines.ts'
import { shareService } from '../../helpers/service/share-service.ts'
import { until } from '../../helpers/until.ts'

const FRAMES = 60

const service = shareService()

describe('pushes', () => {
  it('reach receivers over SRT, UDP, RTMP and RTSP: every frame decodes, and KLV is byte for byte that of the source', async () => {
    const [source, server] = await Promise.all([openSource(), openMediaServer()])
    const [caller, listener, unicast, multicast] = [await freeUdpPort(), await freeUdpPort(), await freeUdpPort(), await freeUdpPort()]
    const rtmp = await freePort()
    const folder = temporaryDataDir()
    const [srtFile, udpFile] = [join(folder, 'srt.ts'), join(folder, 'udp.ts')]

    const saved = saveStream(`srtsrc uri=srt://127.0.0.1:${caller}?mode=listener`, srtFile)
    saveStream(`udpsrc address=127.0.0.1 port=${unicast} buffer-size=4194304`, udpFile)
    const byGroup = decodeFrames(['-i', `udp://239.77.7.7:${multicast}?localaddr=127.0.0.1&buffer_size=4194304`], FRAMES)
    const byRtmp = decodeFrames(['-listen', '1', '-i', `rtmp://127.0.0.1:${rtmp}/live/key`], FRAMES)
    const url = await createPipeline(service, 'drone', {
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
      gstKlv(url, 40),
      // Not until all send at the same time: some receivers leave after their last frame.
      until(
        () => pushesOf(service, 'drone'),
        (pushes) => pushes.every(({ bytes }) => bytes > 100_000),
      ),
    ])
    await server.line((line) => line.available === 'klv-drone')
    const received = `rtsp://127.0.0.1:${server.port}/klv-drone`
    const [first, second] = await Promise.all([gstKlv(received, 15), gstKlv(url, 40)])
    const passed = overlap(first, second)
    expect([passed.common.length > 5, passed.between]).toEqual([true, passed.common])
    const byRtsp = decodeFrames(['-rtsp_transport', 'tcp', '-i', received], FRAMES)
    for (const [name, receiver] of Object.entries({ byCaller, byGroup, byRtmp, byRtsp })) await expectDecoded(name, receiver, FRAMES)
    expect(saved.child.exitCode).toBeNull()
    for (const file of [srtFile, udpFile]) {
      const bytes = wholePackets(readFileSync(file))
      expect([counterGaps(bytes), countPictures(bytes) > FRAMES]).toEqual([0, true])
      const { common, between } = overlap(klvOf(bytes), expected)
      expect(common.length).toBeGreaterThan(15)
      expect(between).toEqual(common)
      await expectDecoded(file, decodeFrames(['-i', file], FRAMES), FRAMES)
    }
    const shown = await pushesOf(service, 'drone')
    expect((await viewOf(service, 'drone')).runtime.readers).toBe(0)

    await command(service, 'drone', 'stop')
    expect(await states(service, 'drone')).toEqual(shown.map(() => 'idle'))
    expect(childrenOf(service.enginePid()).filter(({ command }) => command.includes('gst-launch'))).toEqual([])
  }, 120_000)

  it('come back with their receiver, without the source, a reader or another push noticing', async () => {
    const [rtmp, srt, nobody] = [await freePort(), await freeUdpPort(), await freePort()]
    const server = await openMediaServer()
    const steady = saveStream(
      `srtsrc uri=srt://127.0.0.1:${srt}?mode=listener&passphrase=correct-horse`,
      join(temporaryDataDir(), 'steady.ts'),
    )
    const receive = (): Receiver => decodeFrames(['-listen', '1', '-i', `rtmp://127.0.0.1:${rtmp}/live/key`], 100_000)
    let receiver = receive()
    const url = await createPipeline(service, 'cam', {
      push: [
        { uri: `rtmp://127.0.0.1:${rtmp}/live/key` },
        { uri: `srt://127.0.0.1:${srt}?passphrase=correct-horse` },
        { uri: `rtmp://viewer:battery-staple@127.0.0.1:${nobody}/live/key` },
        { uri: `rtsp://127.0.0.1:${server.port}/nowhere` },
      ],
    })
    const state = async (at: number): Promise<string | undefined> => (await states(service, 'cam'))[at]
    for (const push of [0, 1]) await untilSends(service, 'cam', push)
    const reader = await read(url)
    // The arguments of a push are blanked, those of a test source are not.
    const sources = () =>
      childrenOf(service.enginePid())
        .filter(({ command }) => command.includes('fd=3'))
        .map(({ pid }) => pid)
    const before = sources()
    expect(before).toHaveLength(1)
    for (let kill = 1; kill <= 2; kill += 1) {
      await receiver.kill()
      await until(
        () => state(0),
        (one) => one === 'waiting',
      )
      receiver = receive()
      await untilSends(service, 'cam', 0)
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
  }, 90_000)

  it('let nobody connect without a passphrase while readers need a password', async () => {
    const [open, closed] = [await freeUdpPort(), await freeUdpPort()]
    await createPipeline(service, 'gate', {
      push: [{ uri: `srt://:${open}?mode=listener` }, { uri: `srt://:${closed}?mode=listener&passphrase=correct-horse` }],
    })
    const received = decodeFrames(['-i', `srt://127.0.0.1:${open}`], 100_000)
    await untilSends(service, 'gate', 0)
    await changeSettings(service, { readers: { authentication: 'password', password: 'battery-staple' } })
    await received.ended
    const [first, second] = await until(
      () => pushesOf(service, 'gate'),
      ([push]) => push?.state === 'waiting',
    )
    expect(first?.last_error?.message).toContain('Add a passphrase')
    expect(second?.last_error).toBeNull()
    const { code } = await decodeFrames(['-i', `srt://127.0.0.1:${closed}?passphrase=correct-horse`], 30).ended
    expect(code).toBe(0)
  }, 60_000)

  it('wait for the name of a receiver that has no address, also over UDP, and say so', async () => {
    const schemes = ['udp', 'rtsp', 'rtsps', 'srt', 'rtmp']
    await createPipeline(service, 'lost', {
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
  }, 60_000)

  it('start nothing, and keep nothing playing', async () => {
    await changeSettings(service, { on_demand: { close_after_seconds: 1 } })
    const url = await createPipeline(service, 'idle', { on_demand: true, push: [{ uri: `udp://127.0.0.1:${await freeUdpPort()}` }] })
    expect(await states(service, 'idle')).toEqual(['idle'])
    const reader = await read(url)
    await untilAllSend(service, 'idle')
    await reader.close()
    await until(
      () => states(service, 'idle'),
      ([state]) => state === 'idle',
    )
    await untilView(service, 'idle', ({ state }) => state === 'ready')
  }, 60_000)
})
