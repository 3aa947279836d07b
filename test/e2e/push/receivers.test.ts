import { writeFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { flightPacket } from '../../../lib/st0601/synthetic-flight.ts'
import { startTsKlvSender } from '../../helpers/klv/ts-sender.ts'
import { openMediaServer } from '../../helpers/media/media-server.ts'
import { ffprobe } from '../../helpers/media/players.ts'
import { pushesOf, untilAllSend } from '../../helpers/media/pushes.ts'
import { decodeFrames, expectDecoded, saveStream } from '../../helpers/media/receivers.ts'
import { startRtmpMediaServer } from '../../helpers/media/rtmp-media-server.ts'
import { freePort, freeUdpPort } from '../../helpers/ports.ts'
import { residentBytes } from '../../helpers/process/processes.ts'
import { startService } from '../../helpers/process/service.ts'
import { temporaryDataDir } from '../../helpers/process/temporary-data-dir.ts'
import { makeCertificate } from '../../helpers/rtsp/certificate.ts'
import { startOddServer } from '../../helpers/rtsp/odd-server.ts'
import { sequenceGaps } from '../../helpers/rtsp/reader.ts'
import { startTlsFront } from '../../helpers/rtsp/tls-front.ts'
import { BALL, createPipeline, openSource, read } from '../../helpers/service/pipelines.ts'
import { shareService } from '../../helpers/service/share-service.ts'
import { until } from '../../helpers/until.ts'

const FRAMES = 60
const service = shareService()

/** The authorities that programs of this host trust. */
const TRUSTED = '/etc/ssl/certs/ca-certificates.crt'

/** Starts a program for which the host trusts a further certificate. */
const trusting = async (certificate: string): Promise<readonly string[]> => {
  const bundle = join(temporaryDataDir(), 'trusted.crt')
  writeFileSync(bundle, `${await readFile(TRUSTED, 'utf8')}\n${await readFile(certificate, 'utf8')}`)
  return ['unshare', '--mount', 'sh', '-ec', `mount --bind "$0" ${TRUSTED}; exec "$@"`, bundle]
}

describe('pushes to real receivers', () => {
  it('reach an RTMP server, from which every frame decodes, with sound', async () => {
    const server = await startRtmpMediaServer()
    const uri = `rtmp://127.0.0.1:${server.port}/live/key`
    await createPipeline(service, 'cam', { source: { uri: `${BALL.uri}&audio=1` }, push: [{ uri }] })
    const source = await openSource()
    const g711 = `rtmp://127.0.0.1:${server.port}/live/g711`
    await createPipeline(service, 'g711', { source: { uri: source.url('/av') }, audio: 'aac', push: [{ uri: g711 }] })
    await Promise.all([untilAllSend(service, 'cam'), untilAllSend(service, 'g711')])
    await expectDecoded('from the server', decodeFrames(['-i', uri], FRAMES), FRAMES)
    const codecsOf = async (from: string) => (await ffprobe(from)).map(({ codec_name }) => codec_name).sort()
    // Sound that is encoded begins a moment after the video.
    for (const from of [uri, g711]) await expect.poll(() => codecsOf(from)).toEqual(['aac', 'h264'])
    expect(server.printed()).toContain('start push /live/key')
    expect(await pushesOf(service, 'cam')).toMatchObject([{ state: 'sending', last_error: null }])
  }, 60_000)

  it('carry H.265 over SRT, UDP and RTSP, and say that RTMP cannot', async () => {
    const server = await openMediaServer()
    const [srt, udp, rtmp] = [await freeUdpPort(), await freeUdpPort(), await freePort()]
    const receivers = {
      srt: decodeFrames(['-i', `srt://127.0.0.1:${srt}?mode=listener`], FRAMES),
      udp: decodeFrames(['-i', `udp://127.0.0.1:${udp}?buffer_size=4194304`], FRAMES),
    }
    const source = await createPipeline(service, 'h265', { encoding: { codec: 'h265', quality: 1 } })
    // Only when it plays does it show what the source of this pipeline sends.
    await createPipeline(service, 'cam', {
      source: { uri: source },
      push: [
        { uri: `srt://127.0.0.1:${srt}` },
        { uri: `udp://127.0.0.1:${udp}` },
        { uri: server.publishUrl('h265') },
        { uri: `rtmp://127.0.0.1:${rtmp}/live/key` },
      ],
    })
    await server.line(({ available }) => available === 'h265')
    const rtsp = decodeFrames(['-rtsp_transport', 'tcp', '-i', `rtsp://127.0.0.1:${server.port}/h265`], FRAMES)
    for (const [name, receiver] of Object.entries({ ...receivers, rtsp })) await expectDecoded(name, receiver, FRAMES)
    const refused = (await pushesOf(service, 'cam'))[3]
    expect(refused).toMatchObject({
      state: 'waiting',
      bytes: 0,
      last_error: { message: expect.stringContaining('RTMP carries H.264 only') },
    })
  }, 90_000)

  it('go over TLS to receivers whose certificate the host trusts for their name, and to no others', async () => {
    const [known, unknown] = [makeCertificate(), makeCertificate()]
    onTestFinished(() => {
      known.remove()
      unknown.remove()
    })
    const media = await openMediaServer()
    const [rtmp, otherRtmp, rtsp, otherRtsp, own] = await Promise.all([
      startRtmpMediaServer({ certificate: known }),
      startRtmpMediaServer({ certificate: unknown }),
      startTlsFront(media.port, known),
      startTlsFront(media.port, unknown),
      startService({ prefix: await trusting(known.cert) }),
    ])
    await createPipeline(own, 'cam', {
      push: [
        { uri: `rtmps://127.0.0.1:${rtmp.tlsPort}/live/key` },
        { uri: `rtsps://127.0.0.1:${rtsp}/in/cam` },
        { uri: `rtmps://127.0.0.1:${otherRtmp.tlsPort}/live/key` },
        { uri: `rtsps://127.0.0.1:${otherRtsp}/in/other` },
        // The certificate is of the address alone.
        { uri: `rtmps://localhost:${rtmp.tlsPort}/live/name` },
        { uri: `rtsps://localhost:${rtsp}/in/name` },
      ],
    })
    const all = await until(
      () => pushesOf(own, 'cam'),
      ([one, two, ...others]) => one?.state === 'sending' && two?.state === 'sending' && others.every((push) => push.last_error !== null),
    )
    for (const { last_error, bytes } of all.slice(2)) {
      expect([last_error?.message, bytes]).toEqual([expect.stringContaining('add its certificate authority to this host'), 0])
    }
    await Promise.all([
      expectDecoded('rtmps', decodeFrames(['-i', `rtmp://127.0.0.1:${rtmp.port}/live/key`], 60), 60),
      expectDecoded('rtsps', decodeFrames(['-rtsp_transport', 'tcp', '-i', `rtsp://127.0.0.1:${media.port}/cam`], 60), 60),
    ])
    expect([otherRtmp.printed(), rtmp.printed()].join()).not.toMatch(/start push \/live\/(?:name|.*other)/)
  }, 60_000)

  it('send the video alone to a server that refuses the track of the KLV, whether it says so to ANNOUNCE or to SETUP', async () => {
    const server = await openMediaServer()
    const refusing = await startOddServer({
      answer: ({ method, url }, answer) => {
        // The track of the KLV.
        if (method === 'SETUP' && url.endsWith('stream=1')) Object.assign(answer, { status: 461, headers: {} })
        return undefined
      },
    })
    await createPipeline(service, 'uav', {
      source: { uri: `${BALL.uri}&klv=1` },
      klv_config: { pass_klv: true },
      push: [{ uri: server.publishUrl('plain') }, { uri: `rtsp://127.0.0.1:${refusing.port}/live` }],
    })
    await until(
      async () => (await service.request('GET', '/svc/pipeline/uav/log')).body as readonly { readonly line: string }[],
      (log) => log.some(({ line }) => /^push 1: the receiver does not take the KLV \(.*415/.test(line)),
    )
    await untilAllSend(service, 'uav')
    expect(await pushesOf(service, 'uav')).toMatchObject([{ last_error: null }, { last_error: null }])
    await expectDecoded('video', decodeFrames(['-rtsp_transport', 'tcp', '-i', `rtsp://127.0.0.1:${server.port}/plain`], 60), 60)
    const { requests, reports } = refusing
    await until(
      () => reports.length,
      (packets) => packets > 60,
    )
    const announced = /m=video 0 RTP\/AVP (\d+)/.exec(String(requests.find(({ method }) => method === 'ANNOUNCE')?.body))?.[1]
    expect(requests.filter(({ method, url }) => method === 'SETUP' && url.endsWith('stream=1'))).not.toEqual([])
    expect(new Set(reports.map(({ payload }) => (payload[1] ?? 0) & 0x7f))).toContain(Number(announced))
  }, 60_000)

  it('over RTSP carry the sound of the source, and go on without it where it is refused', async () => {
    const [source, taking, server] = await Promise.all([openSource(), startOddServer(), openMediaServer()])
    await createPipeline(service, 'spoken', {
      source: { uri: source.url('/aac') },
      audio: 'copy',
      push: [{ uri: `rtsp://127.0.0.1:${taking.port}/live` }, { uri: server.publishUrl('silent') }],
    })
    await untilAllSend(service, 'spoken')
    const announced = String(taking.requests.find(({ method }) => method === 'ANNOUNCE')?.body)
    expect(announced).toMatch(/m=video .*m=audio .*MPEG4-GENERIC\/44100/is)
    const sent = (channel: number) => taking.reports.filter((report) => report.channel === channel).length
    await until(
      () => [sent(0), sent(2)],
      ([video = 0, sound = 0]) => video > 30 && sound > 30,
    )
    await expectDecoded('video', decodeFrames(['-rtsp_transport', 'tcp', '-i', `rtsp://127.0.0.1:${server.port}/silent`], 60), 60)
  }, 60_000)

  it('send the video at once while there is no KLV yet, and once there is, with its track where the receiver has one', async () => {
    let flies = false
    const source = await startTsKlvSender({
      synchronous: false,
      announced: () => flies,
      klv: () => (flies ? flightPacket(Date.now()) : undefined),
    })
    onTestFinished(() => source.stop())
    const [rtsp, rtmp] = [await startOddServer(), await startRtmpMediaServer()]
    await createPipeline(service, 'uav', {
      source: { uri: source.uri },
      klv_config: { pass_klv: true },
      push: [{ uri: `rtsp://127.0.0.1:${rtsp.port}/live` }, { uri: `rtmp://127.0.0.1:${rtmp.port}/live/key` }],
    })
    await untilAllSend(service, 'uav')
    const announced = () => rtsp.requests.flatMap(({ method, body }) => (method === 'ANNOUNCE' ? [String(body).includes('SMPTE336M')] : []))
    expect(announced()).toEqual([false])
    flies = true
    await until(announced, (all) => all.includes(true))
    await untilAllSend(service, 'uav')
    expect(announced()).toEqual([false, true])
    expect(await pushesOf(service, 'uav')).toMatchObject([{ last_error: null }, { last_error: null }])
    const log = (await service.request('GET', '/svc/pipeline/uav/log')).body as readonly { readonly line: string }[]
    expect(log.filter(({ line }) => line.startsWith('push 2: started process'))).toHaveLength(1)
  }, 60_000)

  it('bound what waits for receivers that hang, tell it, and are back when they go on', async () => {
    const [media, rtmp] = await Promise.all([openMediaServer(), startRtmpMediaServer()])
    const [srt, udp] = [await freeUdpPort(), await freeUdpPort()]
    const folder = temporaryDataDir()
    const hanging = saveStream(`srtsrc uri=srt://127.0.0.1:${srt}?mode=listener keep-listening=true`, join(folder, 'srt.ts'))
    const steady = saveStream(`udpsrc address=127.0.0.1 port=${udp} buffer-size=4194304`, join(folder, 'udp.ts'))
    // So much that the buffers of the connections are full in seconds.
    const url = await createPipeline(service, 'hung', {
      source: { uri: 'test://snow?width=640&height=480&fps=30' },
      encoding: { codec: 'h264', bitrate: 25_000, quality: 1 },
      push: [
        { uri: `rtmp://127.0.0.1:${rtmp.port}/live/key` },
        { uri: media.publishUrl('cam') },
        { uri: `srt://127.0.0.1:${srt}` },
        { uri: `udp://127.0.0.1:${udp}` },
      ],
    })
    await untilAllSend(service, 'hung')
    const reader = await read(url)
    const before = await pushesOf(service, 'hung')
    const memory = residentBytes(service.enginePid())
    const signal = (name: 'SIGSTOP' | 'SIGCONT'): void => {
      for (const pid of [rtmp.child.pid, media.pid, hanging.child.pid]) if (pid !== undefined) process.kill(pid, name)
    }
    signal('SIGSTOP')
    await until(
      () => pushesOf(service, 'hung'),
      (all) => all.slice(0, 3).every(({ last_error }) => last_error !== null),
      60_000,
    )
    const grown = residentBytes(service.enginePid()) - memory
    signal('SIGCONT')
    const faults = service.log
      .filter((line) => line.includes('"event":"push_fault"') && line.includes('"hung"'))
      .map((line) => JSON.parse(line))
    // rtmp2sink and libsrt notice by themselves.
    for (const [push, reason] of [
      [1, 'timeout'],
      [2, 'stalled'],
      [3, 'unreachable'],
    ])
      expect(faults.find((fault) => fault.push === push)).toMatchObject({ reason })
    // Three queues of 8 MiB, and garbage; 12 MB a second without them.
    expect(grown).toBeLessThan(128 * 1024 * 1024)
    await untilAllSend(service, 'hung')
    expect((await pushesOf(service, 'hung'))[3]).toMatchObject({ since: before[3]?.since, last_error: null })
    expect([sequenceGaps(reader.packets), steady.child.exitCode]).toEqual([[], null])
  }, 120_000)
})
