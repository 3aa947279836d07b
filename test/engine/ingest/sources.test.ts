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

/** How much later the times of the KLV are than those of the video, beside their arrival. */
const klvBehindMs = ({ klv, video }: SourcePlay): number => {
  const lead = (unit: AccessUnit | undefined): number => (unit?.mediaMs ?? 0) - (unit?.arrivedMs ?? 0)
  return lead(klv.at(-1)) - lead(video.at(-1))
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

  it('brings the KLV of /klv, at the times of the video', async () => {
    const play = await playSource(given(source.url('/klv', USER_INFO)))
    await play.media()
    await until(
      () => play.klv.length,
      (count) => count > 5,
    )
    expect(play.streams[1].caps?.encodingName).toBe('SMPTE336M')
    expect(play.klv[0]?.payload().subarray(0, 4).toString('hex')).toBe('060e2b34')
    expect(Math.abs(klvBehindMs(play))).toBeLessThan(400)
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
    expect(performance.now() - began).toBeLessThan(2000)
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

  it('over UDP brings its KLV at the times of the video', async () => {
    const planner = newPlanner()
    const source = await startRtspSource(['--transport', 'udp'])
    onTestFinished(() => source.stop())
    const previousFault = await faultOf(source.url('/klv'), { planner })
    const play = await playSource(source.url('/klv'), { planner, previousFault })
    await play.media()
    await until(
      () => play.klv.length,
      (count) => count > 5,
    )
    expect(Math.abs(klvBehindMs(play))).toBeLessThan(400)
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

  it('that hangs is stalled, and is stopped within a second', async () => {
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
    expect(performance.now() - began).toBeLessThan(1000)
  })
})
