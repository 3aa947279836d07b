import { createServer } from 'node:net'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { ffmpegDecode, ffprobe, gstDecode } from '../helpers/media/players.ts'
import { childrenOf, isAlive, pidOf } from '../helpers/process/processes.ts'
import { type Service, startService } from '../helpers/process/service.ts'
import { type RtspSource, startRtspSource } from '../helpers/rtsp/source.ts'
import { until } from '../helpers/until.ts'

let source: RtspSource

beforeAll(async () => {
  // Small pictures: x265enc keeps up with them on a busy machine too.
  source = await startRtspSource(['--width', '320', '--height', '180', '--fps', '15', '--gop-seconds', '1'])
})
afterAll(async () => {
  await source.stop()
})

const outputOf = (body: { output: { uri: string } }): string => body.output.uri.replace('0.0.0.0', '127.0.0.1')

const create = async (service: Service, id: string, more: Record<string, unknown>): Promise<string> => {
  const { status, body } = await service.request('POST', '/svc/pipeline', { id, mode: 'simple', ...more })
  expect({ status, message: body.message }).toEqual({ status: 201, message: undefined })
  expect(body).toMatchObject({ id, state: 'playing', runtime: { phase: 'playing', desired: 'playing' } })
  return outputOf(body)
}

const portIsFree = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const probe = createServer()
    probe.once('error', () => resolve(false))
    probe.listen(port, () => probe.close(() => resolve(true)))
  })

describe('a pipeline', () => {
  it('serves the built-in source, reports its state, and leaves nothing behind', async () => {
    const service = await startService()
    const url = await create(service, 'first', { source: { uri: 'test://ball?width=320&height=240&fps=15' } })
    expect(await ffprobe(url)).toMatchObject([{ codec_name: 'h264', width: 320, height: 240 }])

    const playing = await service.request('GET', '/svc/pipeline/first')
    expect(playing.body.runtime.frames).toBeGreaterThan(0)
    expect(playing.body.runtime.last_error).toBeNull()
    expect(childrenOf(service.enginePid())).toHaveLength(1)
    expect((await service.request('DELETE', '/svc/pipeline/first')).status).toBe(409)
    expect((await service.request('PUT', '/svc/pipeline/first', playing.body)).status).toBe(409)

    const stopped = await service.request('PUT', '/svc/pipeline/first/stop')
    expect(stopped.body).toMatchObject({ state: 'ready', runtime: { phase: 'idle', desired: 'ready', readers: 0 } })
    expect(childrenOf(service.enginePid())).toHaveLength(0)
    expect(await portIsFree(Number(new URL(url.replace('rtsp:', 'http:')).port))).toBe(true)

    expect((await service.request('PUT', '/svc/pipeline/first', stopped.body)).status).toBe(200)
    const [once, twice] = await Promise.all([
      service.request('PUT', '/svc/pipeline/first/play'),
      service.request('PUT', '/svc/pipeline/first/play'),
    ])
    expect([once.status, twice.status]).toEqual([200, 200])
    expect(childrenOf(service.enginePid())).toHaveLength(1)
    await service.request('PUT', '/svc/pipeline/first/stop')
    expect((await service.request('DELETE', '/svc/pipeline/first')).status).toBe(204)
    const engine = service.enginePid()
    expect(await service.stop()).toBe(0)
    await until(
      () => isAlive(engine),
      (alive) => !alive,
    )
  })

  it.each(['h264', 'h265'] as const)(
    'passes %s of a third-party RTSP source through to ffmpeg and GStreamer',
    {
      timeout: 60_000,
    },
    async (codec) => {
      const service = await startService()
      const url = await create(service, `pass-${codec}`, { source: { uri: source.url(`/${codec}`), latency_ms: 50 } })
      const decoded = await Promise.all([ffmpegDecode(url, 30, 'tcp'), ffmpegDecode(url, 30, 'udp')])
      expect(decoded).toEqual([
        { frames: 30, errors: [] },
        { frames: 30, errors: [] },
      ])
      const frames = await Promise.all(
        [[], ['protocols=tcp'], ['protocols=udp']].map((properties) => gstDecode(url, 20, codec, properties)),
      )
      expect(Math.min(...frames)).toBeGreaterThanOrEqual(20)
      await service.stop()
    },
  )

  it.each(['h264', 'h265'] as const)('re-encodes to %s with the requested size and frame rate', async (codec) => {
    const service = await startService()
    const url = await create(service, `encode-${codec}`, {
      source: { uri: source.url('/h264'), latency_ms: 0 },
      encoding: { codec, bitrate: 800, width: 480, height: 270, fps: 20, quality: 1 },
    })
    expect(await ffprobe(url)).toMatchObject([{ codec_name: codec === 'h264' ? 'h264' : 'hevc', width: 480, height: 270 }])
    expect(await ffmpegDecode(url, 40)).toEqual({ frames: 40, errors: [] })
    const { body } = await until(
      () => service.request('GET', `/svc/pipeline/encode-${codec}`),
      // The meter averages over a time, so the rate climbs at first.
      ({ body: { runtime } }) => Math.abs(runtime.fps - 20) <= 2,
    )
    expect(Math.abs(body.runtime.fps - 20)).toBeLessThanOrEqual(2)
    await service.stop()
  })

  it('reports why a start failed, and is not stored', async () => {
    const service = await startService()
    await service.request('PUT', '/svc/settings', { start_timeout_seconds: 2 })
    const attempts = [
      [source.url('/nothing-here'), 500, 'ENGINE_ERROR', 'not_found'],
      ['rtsp://127.0.0.1:1/x', 504, 'PIPELINE_START_TIMEOUT', 'unreachable'],
    ] as const
    for (const [uri, status, code, reason] of attempts) {
      const answer = await service.request('POST', '/svc/pipeline', { id: 'broken', mode: 'simple', source: { uri } })
      expect(answer).toMatchObject({ status, body: { code, details: { reason, cause: expect.any(String) } } })
      expect((await service.request('GET', '/svc/pipeline/broken')).status).toBe(404)
    }
    expect(childrenOf(service.enginePid())).toHaveLength(0)
    await service.stop()
  })

  it('can be advanced, with and without pay0', async () => {
    const service = await startService()
    const encoder = 'x264enc tune=zerolatency speed-preset=ultrafast key-int-max=30 ! video/x-h264,profile=baseline'
    const published = await service.request('POST', '/svc/pipeline', {
      id: 'advanced',
      mode: 'advanced',
      raw_pipeline: `videotestsrc is-live=true ! video/x-raw,width=320,height=240,framerate=30/1 ! ${encoder} ! rtph264pay name=pay0 config-interval=-1`,
    })
    expect(published).toMatchObject({
      status: 201,
      body: { state: 'playing', output: { uri: expect.stringMatching(/^rtsp:\/\/0\.0\.0\.0:\d+\/advanced$/) } },
    })
    expect(await ffmpegDecode(outputOf(published.body), 30)).toEqual({ frames: 30, errors: [] })
    const silent = await service.request('POST', '/svc/pipeline', {
      id: 'silent',
      mode: 'advanced',
      raw_pipeline: 'videotestsrc is-live=true ! fakesink',
    })
    expect(silent).toMatchObject({ status: 201, body: { state: 'playing' } })
    expect(silent.body).not.toHaveProperty('output')
    const refused = await service.request('POST', '/svc/pipeline', {
      id: 'reads',
      mode: 'advanced',
      raw_pipeline: 'filesrc location=/etc/passwd ! fakesink',
    })
    expect(refused).toMatchObject({ status: 400, body: { code: 'VALIDATION_ERROR' } })
    const wrong = await service.request('POST', '/svc/pipeline/validate', {
      id: 'wrong',
      mode: 'advanced',
      raw_pipeline: 'videotestsrc ! nosuchelement',
    })
    expect(wrong).toMatchObject({
      status: 400,
      body: { details: { issues: [{ path: 'raw_pipeline', message: expect.stringContaining('nosuchelement') }] } },
    })
    await service.stop()
  })

  it('stops a child that ignores signals within five seconds', async () => {
    const service = await startService()
    await create(service, 'stubborn', { source: { uri: 'test://ball' } })
    const [child] = childrenOf(service.enginePid())
    // A stopped process takes neither SIGINT nor SIGTERM.
    process.kill(pidOf(child), 'SIGSTOP')
    const began = performance.now()
    expect((await service.request('PUT', '/svc/pipeline/stubborn/stop')).body.state).toBe('ready')
    expect(performance.now() - began).toBeLessThan(5000)
    expect(isAlive(pidOf(child))).toBe(false)
    await service.stop()
  })

  it('cancels a start in progress when it is stopped', async () => {
    const hanging = await startRtspSource(['--hang'])
    onTestFinished(() => hanging.stop())
    const service = await startService()
    await service.request('POST', '/svc/pipeline', { id: 'slow', mode: 'simple', on_demand: true, source: { uri: hanging.url('/h264') } })
    const play = service.request('PUT', '/svc/pipeline/slow/play')
    await until(
      () => service.request('GET', '/svc/pipeline/slow'),
      ({ body }) => body.runtime.phase === 'starting',
    )
    expect((await service.request('PUT', '/svc/pipeline/slow/stop')).status).toBe(200)
    expect(await play).toMatchObject({ status: 409, body: { code: 'CONFLICT', details: { reason: 'stopped' } } })
    await service.stop()
  })
})
