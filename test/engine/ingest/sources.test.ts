import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { Fault } from '../../../engine/faults/fault.ts'
import { TRANSPORT_REFUSED } from '../../../engine/gst/bus-errors.ts'
import type { AccessUnit } from '../../../engine/rtp/access-unit.ts'
import { childReads, engineReads, faultOf, newStreams, playSource } from '../../helpers/media/play-source.ts'
import { makeCertificate } from '../../helpers/rtsp/certificate.ts'
import { type RtspSource, startRtspSource } from '../../helpers/rtsp/source.ts'
import { until } from '../../helpers/until.ts'

const READERS = [
  ['engine', engineReads],
  ['child', childReads],
] as const

// Every character with a meaning in a URI, a shell or gst-launch.
const USER_INFO = `us%20er:${encodeURIComponent('p"a\\s\'s !@:/')}`

const timesOf = (units: readonly AccessUnit[]): readonly number[] => units.map(({ timestamp }) => timestamp)

const gapsOf = (units: readonly AccessUnit[]): readonly string[] =>
  units.flatMap(({ firstSequence }, at) => {
    const before = units[at - 1]
    return before !== undefined && firstSequence !== ((before.lastSequence + 1) & 0xffff) ? [`${before.lastSequence}→${firstSequence}`] : []
  })

describe.each(READERS)('a source read by the %s', (by, planner) => {
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
  ])('passes through %s', async (path, caps) => {
    const play = await playSource(source.url(path, USER_INFO), { planner: planner() })
    await play.media()
    await until(
      () => play.video.length,
      (count) => count > 20,
    )
    expect([play.by, play.streams[0].caps]).toMatchObject([by, caps])
    expect(gapsOf(play.video)).toEqual([])
    const steps = play.video.slice(1).map(({ mediaMs }, at) => mediaMs - (play.video[at]?.mediaMs ?? 0))
    expect(steps.filter((step) => step < 0 || step > 500)).toEqual([])
  })

  it.each([
    ['/h264', /^[A-Za-z0-9+/=]+,[A-Za-z0-9+/=]+$/, 'sprop-parameter-sets'],
    ['/h265', /^[A-Za-z0-9+/=]+$/, 'sprop-vps'],
  ])('tells readers the parameter sets of %s', async (path, value, name) => {
    const play = await playSource(source.url(path, USER_INFO), { planner: planner() })
    await play.media()
    expect(play.streams[0].caps?.parameters.get(name)).toMatch(value)
  })

  it('passes through the KLV of /klv, at the times of the video', async () => {
    const play = await playSource(source.url('/klv', USER_INFO), { planner: planner() })
    await play.media()
    await until(
      () => play.klv.length,
      (count) => count > 5,
    )
    expect(play.streams[1].caps?.encodingName).toBe('SMPTE336M')
    expect(play.klv[0]?.payload().subarray(0, 4).toString('hex')).toBe('060e2b34')
    const [klv, video] = [play.klv.at(-1), play.video.at(-1)]
    expect(Math.abs((klv?.mediaMs ?? 0) - (klv?.arrivedMs ?? 0) - ((video?.mediaMs ?? 0) - (video?.arrivedMs ?? 0)))).toBeLessThan(400)
  })

  it('ends at once when its server goes away, and its stream goes on in the next run', async () => {
    const first = await startRtspSource(['--transport', 'tcp'])
    onTestFinished(() => first.stop())
    const streams = newStreams()
    const play = await playSource(first.url('/h264'), { planner: planner(), streams })
    await play.media()
    const began = performance.now()
    await first.stop()
    expect(await play.ended).toBeInstanceOf(Fault)
    expect(performance.now() - began).toBeLessThan(2000)
    const second = await startRtspSource(['--transport', 'tcp', '--port', String(first.port)])
    onTestFinished(() => second.stop())
    const seen = play.video.length
    const next = await playSource(second.url('/h264'), { planner: planner(), streams })
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
    expect(await faultOf(source.url('/h264', 'user:wrong'), { planner: planner() })).toMatchObject({ reason: 'unauthorized' })
  })
})

describe('a source read by the engine', () => {
  it('is left to a child with MPEG-TS inside', async () => {
    const source = await startRtspSource()
    onTestFinished(() => source.stop())
    const play = await playSource(source.url('/mp2t'))
    await play.media()
    expect([play.by, play.streams[0].caps?.encodingName]).toEqual(['child', 'H264'])
  })

  it('that sends over UDP only is read over UDP after its first refusal, and over TCP when it has changed', async () => {
    const planner = engineReads()
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
    expect([play.by, play.streams[0].caps?.encodingName, gapsOf(play.video)]).toEqual(['engine', 'H264', []])
    expect(play.log().join()).toContain('H264 over UDP')
    await play.stop()
    await udp.stop()
    const tcp = await startRtspSource(['--transport', 'tcp', '--port', String(udp.port)])
    onTestFinished(() => tcp.stop())
    const noUdp = await faultOf(uri, { planner })
    expect(noUdp).toMatchObject({ cause: TRANSPORT_REFUSED })
    const again = await playSource(uri, { planner, previousFault: noUdp })
    await again.media()
    expect([again.by, again.log().join()]).toEqual(['engine', expect.stringContaining('H264 over TCP')])
  })

  it('over UDP brings its KLV at the times of the video', async () => {
    const planner = engineReads()
    const source = await startRtspSource(['--transport', 'udp'])
    onTestFinished(() => source.stop())
    const previousFault = await faultOf(source.url('/klv'), { planner })
    const play = await playSource(source.url('/klv'), { planner, previousFault })
    await play.media()
    await until(
      () => play.klv.length,
      (count) => count > 5,
    )
    expect([play.by, play.streams[1].caps?.encodingName]).toEqual(['engine', 'SMPTE336M'])
    const [klv, video] = [play.klv.at(-1), play.video.at(-1)]
    expect(Math.abs((klv?.mediaMs ?? 0) - (klv?.arrivedMs ?? 0) - ((video?.mediaMs ?? 0) - (video?.arrivedMs ?? 0)))).toBeLessThan(400)
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
      expect(play.by).toBe('engine')
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
