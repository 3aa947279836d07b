import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { ffmpegDecode, ffprobe, gstDecode } from '../../helpers/media/players.ts'
import { freePort, portIsFree } from '../../helpers/ports.ts'
import { childrenOf, isAlive, pidOf } from '../../helpers/process/processes.ts'
import { startService } from '../../helpers/process/service.ts'
import { type RtspSource, startRtspSource } from '../../helpers/rtsp/source.ts'
import { changeSettings, command, createPipeline, portOf, untilPhase, untilView, viewOf } from '../../helpers/service/pipelines.ts'
import { shareService } from '../../helpers/service/share-service.ts'
import { until } from '../../helpers/until.ts'

const service = shareService()
let source: RtspSource

beforeAll(async () => {
  // Small pictures: x265enc keeps up with them on a busy machine too.
  source = await startRtspSource(['--width', '320', '--height', '180', '--fps', '15', '--gop-seconds', '1'])
})
afterAll(async () => {
  await source.stop()
})

it('a service serves the built-in source, reports its state, and leaves nothing behind', async () => {
  const own = await startService()
  const url = await createPipeline(own, 'first')
  expect(await ffprobe(url)).toMatchObject([{ codec_name: 'h264', width: 320, height: 240 }])
  const playing = await viewOf(own, 'first')
  expect(playing.runtime).toMatchObject({ phase: 'playing', desired: 'playing', last_error: null })
  expect(playing.runtime.frames).toBeGreaterThan(0)
  expect(childrenOf(own.enginePid())).toHaveLength(1)
  expect((await own.request('DELETE', '/svc/pipeline/first')).status).toBe(409)
  expect((await own.request('PUT', '/svc/pipeline/first', playing)).status).toBe(409)

  const { body: stopped } = await command(own, 'first', 'stop')
  expect(stopped).toMatchObject({ state: 'ready', runtime: { phase: 'idle', desired: 'ready', readers: 0 } })
  expect(childrenOf(own.enginePid())).toHaveLength(0)
  expect(await portIsFree(portOf(url))).toBe(true)

  expect((await own.request('PUT', '/svc/pipeline/first', stopped)).status).toBe(200)
  const plays = await Promise.all([command(own, 'first', 'play'), command(own, 'first', 'play')])
  expect(plays.map(({ status }) => status)).toEqual([200, 200])
  expect(childrenOf(own.enginePid())).toHaveLength(1)
  await command(own, 'first', 'stop')
  expect((await own.request('DELETE', '/svc/pipeline/first')).status).toBe(204)
  const engine = own.enginePid()
  expect(await own.stop()).toBe(0)
  await until(
    () => isAlive(engine),
    (alive) => !alive,
  )
})

describe.each(['h264', 'h265'] as const)('%s', (codec) => {
  it('of a third-party RTSP source is passed through to ffmpeg and GStreamer', async () => {
    const url = await createPipeline(service, codec, { source: { uri: source.url(`/${codec}`), latency_ms: 50 } })
    const [tcp, udp, gstreamer] = await Promise.all([ffmpegDecode(url, 30, 'tcp'), ffmpegDecode(url, 30, 'udp'), gstDecode(url, 20, codec)])
    expect([tcp, udp]).toEqual([
      { frames: 30, errors: [] },
      { frames: 30, errors: [] },
    ])
    expect(gstreamer).toBeGreaterThanOrEqual(20)
  })

  it('is encoded with the requested size and frame rate', async () => {
    const encoding = { codec, bitrate: 800, width: 480, height: 270, fps: 20, quality: 1 }
    const url = await createPipeline(service, codec, { source: { uri: source.url('/h264'), latency_ms: 0 }, encoding })
    expect(await ffprobe(url)).toMatchObject([{ codec_name: codec === 'h264' ? 'h264' : 'hevc', width: 480, height: 270 }])
    expect(await ffmpegDecode(url, 40)).toEqual({ frames: 40, errors: [] })
    // The meter averages over a time, so the rate climbs at first.
    await untilView(service, codec, ({ runtime }) => Math.abs(runtime.fps - 20) <= 2)
  })
})

describe('a start', () => {
  it('that fails says why, and stores nothing', async () => {
    await changeSettings(service, { start_timeout_seconds: 1 })
    for (const [uri, status, code, reason] of [
      [source.url('/nothing-here'), 500, 'ENGINE_ERROR', 'not_found'],
      ['rtsp://127.0.0.1:1/x', 504, 'PIPELINE_START_TIMEOUT', 'unreachable'],
    ] as const) {
      const answer = await service.request('POST', '/svc/pipeline', { id: 'broken', mode: 'simple', source: { uri } })
      expect(answer).toMatchObject({ status, body: { code, details: { reason, cause: expect.any(String) } } })
      expect((await service.request('GET', '/svc/pipeline/broken')).status).toBe(404)
    }
    expect(childrenOf(service.enginePid())).toHaveLength(0)
  })

  it('and a replacement fail in the same way on a port that another program uses', async () => {
    const other = createServer().listen(await freePort(), '0.0.0.0')
    await once(other, 'listening')
    onTestFinished(() => void other.close())
    const output = { uri: `rtsp://0.0.0.0:${(other.address() as AddressInfo).port}/moved` }
    const body = { id: 'moved', mode: 'simple', source: { uri: 'test://ball?width=160&height=120&fps=15' } }
    const refusal = { code: 'SERVICE_UNAVAILABLE', details: { reason: 'port_in_use', cause: expect.stringContaining('another program') } }
    const refused = { status: 503, body: refusal }
    expect(await service.request('POST', '/svc/pipeline', { ...body, output })).toMatchObject(refused)
    await createPipeline(service, 'moved', body)
    await command(service, 'moved', 'stop')
    expect(await service.request('PUT', '/svc/pipeline/moved', { ...body, output })).toMatchObject(refused)
    expect((await viewOf(service, 'moved')).output).not.toEqual(output)
  })

  it('is cancelled by a stop', async () => {
    source.pause()
    await createPipeline(service, 'slow', { on_demand: true, source: { uri: source.url('/h264') } })
    const play = command(service, 'slow', 'play')
    await untilPhase(service, 'slow', 'starting')
    expect((await command(service, 'slow', 'stop')).status).toBe(200)
    source.resume()
    expect(await play).toMatchObject({ status: 409, body: { code: 'CONFLICT', details: { reason: 'stopped' } } })
  })
})

it('a stop ends a child that ignores signals', async () => {
  await createPipeline(service, 'stubborn')
  const child = pidOf(childrenOf(service.enginePid())[0])
  // A stopped process takes neither SIGINT nor SIGTERM.
  process.kill(child, 'SIGSTOP')
  const began = performance.now()
  expect((await command(service, 'stubborn', 'stop')).body.state).toBe('ready')
  // After 2 s SIGTERM, after as long again SIGKILL.
  expect(performance.now() - began).toBeLessThan(9000)
  expect(isAlive(child)).toBe(false)
})
