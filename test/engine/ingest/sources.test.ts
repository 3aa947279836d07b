import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { Fault } from '../../../engine/faults/fault.ts'
import type { AccessUnit } from '../../../engine/rtp/access-unit.ts'
import { TRANSPORT_REFUSED } from '../../../engine/rtsp/client/client-faults.ts'
import { configure, H264 } from '../../helpers/media/play-launch.ts'
import { faultOf, newPlanner, newStreams, playSource, type SourcePlay } from '../../helpers/media/play-source.ts'
import { makeCertificate } from '../../helpers/rtsp/certificate.ts'
import { type RtspSource, startRtspSource } from '../../helpers/rtsp/source.ts'
import { until } from '../../helpers/until.ts'

const WAYS = [
  ['passed through', null],
  ['re-encoded', H264],
] as const

// Every character with a meaning in a URI, a shell or gst-launch.
const USER_INFO = `us%20er:${encodeURIComponent('p"a\\s\'s !@:/')}`

const timesOf = (units: readonly AccessUnit[]): readonly number[] => units.map(({ timestamp }) => timestamp)

const gapsOf = (units: readonly AccessUnit[]): readonly string[] =>
  units.flatMap(({ firstSequence }, at) => {
    const before = units[at - 1]
    return before !== undefined && firstSequence !== ((before.lastSequence + 1) & 0xffff) ? [`${before.lastSequence}→${firstSequence}`] : []
  })

const FRAME_MS = 1000 / 30

/** How long before the next picture a packet of KLV is. */
const phaseOf = ({ klv, video }: SourcePlay, packet: Buffer): number => {
  const at = klv.find((unit) => unit.payload().equals(packet))?.mediaMs ?? Number.NaN
  return ((video[0]?.mediaMs ?? Number.NaN) - at) % FRAME_MS
}

describe.each(WAYS)('a source that is %s', (_way, encoding) => {
  const given = (uri: string) => configure(uri, encoding)
  let source: RtspSource

  beforeAll(async () => {
    source = await startRtspSource(['--auth', 'digest', '--user', 'us er', '--password', 'p"a\\s\'s !@:/'])
  })
  afterAll(() => source.stop())

  it.each([
    ['/h264', { encodingName: 'H264', payload: 96 }],
    ['/h265', { encodingName: 'H265', payload: 96 }],
    ['/av', { encodingName: 'H264', payload: 96 }],
    ['/jpeg', { encodingName: 'JPEG', payload: 26 }],
    ['/vp8', { encodingName: 'VP8', payload: 96 }],
    ['/mp2t', { encodingName: 'H264' }],
  ])('plays: %s', async (path, caps) => {
    const play = await playSource(given(source.url(path, USER_INFO)))
    await play.media()
    await until(
      () => play.video.length,
      (count) => count > 20,
    )
    expect(play.streams[0].caps).toMatchObject(encoding === null ? caps : { encodingName: 'H264' })
    expect(gapsOf(play.video)).toEqual([])
    const steps = play.video.slice(1).map(({ mediaMs }, at) => mediaMs - (play.video[at]?.mediaMs ?? 0))
    expect(steps.filter((step) => step < 0 || step > 500)).toEqual([])
  })

  it.each(['/h264', '/mp2t'])('ends at once when its server goes away, and its stream goes on in the next run: %s', async (path) => {
    const first = await startRtspSource(['--transport', 'tcp'])
    onTestFinished(() => first.stop())
    const streams = newStreams()
    const play = await playSource(given(first.url(path)), { streams })
    await play.media()
    const began = performance.now()
    await first.stop()
    expect(await play.ended).toBeInstanceOf(Fault)
    expect(performance.now() - began).toBeLessThan(8000)
    const second = await startRtspSource(['--transport', 'tcp', '--port', String(first.port)])
    onTestFinished(() => second.stop())
    const seen = play.video.length
    const next = await playSource(given(second.url(path)), { streams })
    await next.media()
    await until(
      () => play.video.length,
      (count) => count > seen + 10,
    )
    expect(gapsOf(play.video)).toEqual([])
    const times = timesOf(play.video)
    expect(times.filter((time, at) => at > 0 && ((time - (times[at - 1] ?? 0)) | 0) < 0)).toEqual([])
  })

  it('is unauthorized with a wrong password', async () => {
    expect(await faultOf(given(source.url('/h264', 'user:wrong')))).toMatchObject({ reason: 'unauthorized' })
  })
})

describe('a source', () => {
  it('that sends over UDP only is read over UDP after its first refusal, and over TCP when it has changed', async () => {
    const planner = newPlanner()
    const udp = await startRtspSource(['--transport', 'udp'])
    onTestFinished(() => udp.stop())
    const uri = udp.url('/h264')
    const noTcp = await faultOf(uri, { planner })
    expect(noTcp).toMatchObject({ reason: 'source_error', cause: TRANSPORT_REFUSED })
    const play = await playSource(uri, { planner, previousFault: noTcp })
    await play.media()
    await until(
      () => play.video.length,
      (count) => count > 20,
    )
    expect([play.streams[0].caps?.encodingName, gapsOf(play.video)]).toEqual(['H264', []])
    expect(play.log().join()).toContain('H264 over UDP')
    await play.stop()
    await udp.stop()
    const tcp = await startRtspSource(['--transport', 'tcp', '--port', String(udp.port)])
    onTestFinished(() => tcp.stop())
    const noUdp = await faultOf(uri, { planner })
    expect(noUdp).toMatchObject({ cause: TRANSPORT_REFUSED })
    const again = await playSource(uri, { planner, previousFault: noUdp })
    await again.media()
    expect(again.log().join()).toContain('H264 over TCP')
  })

  it.each(['tcp', 'udp'])('over %s brings its KLV at the same times of its pictures, passed through or re-encoded', async (transport) => {
    const planner = newPlanner()
    const shared = await startRtspSource(['--transport', transport])
    onTestFinished(() => shared.stop())
    const previousFault = transport === 'udp' ? await faultOf(shared.url('/klv'), { planner }) : undefined
    const { fps, ...everyPicture } = H264
    // A server states the times of its tracks to each other (RTP-Info) only when both have begun.
    const first = await playSource(configure(shared.url('/klv'), null), { planner, previousFault })
    await until(
      () => Math.min(first.klv.length, first.video.length),
      (count) => count > 0,
    )
    const configs = [configure(shared.url('/klv'), null), configure(shared.url('/klv'), everyPicture)]
    const plays = await Promise.all(configs.map((config) => playSource(config, { planner, previousFault })))
    await until(
      () => plays.map(({ klv, video }) => Math.min(klv.length, video.length)),
      (counts) => Math.min(...counts) > 8,
    )
    expect(plays.map(({ streams }) => streams[1].caps?.encodingName)).toEqual(['SMPTE336M', 'SMPTE336M'])
    const packet = plays[1]?.klv[3]?.payload() ?? Buffer.alloc(0)
    expect(packet.subarray(0, 4).toString('hex')).toBe('060e2b34')
    const [passed = Number.NaN, encoded = Number.NaN] = plays.map((play) => phaseOf(play, packet))
    const apartMs = Math.abs(passed - encoded) % FRAME_MS
    expect(Math.min(apartMs, FRAME_MS - apartMs)).toBeLessThan(1)
  })

  it('whose process does not read goes on without it, and the process at a key frame when it reads again', async () => {
    const camera = await startRtspSource(['--bitrate', '4000'])
    onTestFinished(() => camera.stop())
    const play = await playSource(configure(camera.url('/klv'), H264), { stallTimeoutMs: 60_000 })
    await play.media()
    const pid = play.pid() ?? expect.fail('There is no process')
    process.kill(pid, 'SIGSTOP')
    onTestFinished(() => void process.kill(pid, 'SIGCONT'))
    await until(() => play.log().some((line) => line.includes('reads too slowly')), Boolean)
    const [klv, video] = [play.klv.length, play.video.length]
    await until(
      () => play.klv.length,
      (count) => count > klv + 10,
    )
    expect(play.video.length).toBe(video)
    process.kill(pid, 'SIGCONT')
    await until(
      () => play.video.length,
      (count) => count > video + 20,
    )
    expect(gapsOf(play.video)).toEqual([])
  })

  it('over TLS with a self-signed certificate and over rtspt:// passes through', async () => {
    const { cert, key, remove } = makeCertificate()
    onTestFinished(remove)
    const source = await startRtspSource(['--tls', cert, key, '--auth', 'digest'])
    onTestFinished(() => source.stop())
    const plain = await startRtspSource(['--transport', 'tcp'])
    onTestFinished(() => plain.stop())
    for (const uri of [source.url('/h264', 'user:secret'), plain.url('/h264').replace('rtsp:', 'rtspt:')]) {
      const play = await playSource(uri)
      await play.media()
      expect(play.pid()).toBeUndefined()
      await play.stop()
    }
  })

  it('that hangs is stalled, and one that answers is stopped soon', async () => {
    const source = await startRtspSource()
    onTestFinished(() => source.stop())
    const play = await playSource(source.url('/h264'), { stallTimeoutMs: 500 })
    await play.media()
    source.pause()
    expect(await play.ended).toMatchObject({ reason: 'stalled' })
    source.resume()
    const next = await playSource(source.url('/h264'))
    await next.media()
    const began = performance.now()
    await next.stop()
    expect(performance.now() - began).toBeLessThan(5000)
  })
})
