import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { describe, expect, it, onTestFinished } from 'vitest'
import { mediaChildren } from '../../helpers/api/host-truth.ts'
import { childrenOf } from '../../helpers/process/processes.ts'
import { type Service, startService } from '../../helpers/process/service.ts'
import { connectReader, sequenceGaps, timestampSteps } from '../../helpers/rtsp/reader.ts'
import type { RtspSource } from '../../helpers/rtsp/source.ts'
import { changeSettings, createPipeline, openSource, read, untilPhase, untilView, viewOf } from '../../helpers/service/pipelines.ts'
import { shareService } from '../../helpers/service/share-service.ts'
import { until } from '../../helpers/until.ts'

const SIZE = ['--width', '320', '--height', '240', '--gop-seconds', '0.5']

/** A source that can be killed and started again on its port. */
const startSource = (port = 0): Promise<RtspSource> => openSource('--port', String(port), ...SIZE)

const create = (service: Service, id: string, uri: string): Promise<string> =>
  createPipeline(service, id, { source: { uri, latency_ms: 0 } })

/** ffmpeg that decodes until it quits; answers the number of frames and its errors. */
const startDecoder = (url: string, transport: 'tcp' | 'udp') => {
  const options = [
    '-v',
    'error',
    '-rtsp_transport',
    transport,
    '-i',
    url,
    '-map',
    '0:v',
    '-enc_time_base',
    '1:90000',
    '-fps_mode',
    'passthrough',
  ]
  const child: ChildProcess = spawn('ffmpeg', [...options, '-progress', 'pipe:1', '-f', 'null', '-'], { stdio: ['pipe', 'pipe', 'pipe'] })
  const exited = once(child, 'exit')
  onTestFinished(async () => {
    child.kill('SIGKILL')
    await exited
  })
  const seen = { frames: 0, complaints: '' }
  child.stdout?.on('data', (text: Buffer) => {
    seen.frames = Number([...text.toString().matchAll(/^frame=(\d+)$/gm)].at(-1)?.[1] ?? seen.frames)
  })
  child.stderr?.on('data', (text: Buffer) => {
    // ffmpeg's muxer logs this also for the source itself, at each key frame; only errors of the decoder count.
    seen.complaints += text.toString().replace(/^.*non monotonically increasing dts to muxer.*\n/gm, '')
  })
  return seen
}

const hasMoreThan = (count: number) => (frames: readonly number[]) => frames.every((each) => each > count)

const service = shareService()

describe('a source that fails', () => {
  it('disconnects no reader: over TCP and UDP the same streams go on when it is back', async () => {
    const source = await startSource()
    const url = await create(service, 'outage', source.url('/h264'))
    const readers = await Promise.all((['tcp', 'tcp', 'tcp', 'udp', 'udp'] as const).map((transport) => read(url, { transport })))
    const decoders = [startDecoder(url, 'tcp'), startDecoder(url, 'udp')]
    await until(() => decoders.map(({ frames }) => frames), hasMoreThan(20))
    await source.stop()
    const away = await untilPhase(service, 'outage', 'reconnecting')
    expect(away).toMatchObject({
      state: 'playing',
      // Not that of a start, which came in time.
      runtime: { desired: 'playing', restarts: 1, readers: 7, last_error: { code: 'ENGINE_ERROR' } },
    })
    expect(Date.parse(away.runtime.next_retry_at)).toBeGreaterThan(Date.parse(away.runtime.since))

    const late = await connectReader(url)
    onTestFinished(() => late.close())
    expect((await late.describe()).status).toBe(200)
    const refused = await untilView(service, 'outage', ({ runtime }) => runtime.restarts >= 2)
    expect(refused.runtime.last_error).toMatchObject({ code: 'ENGINE_ERROR', message: expect.stringContaining('refuses the connection') })
    const counts = readers.map(({ count }) => count)
    const framesBefore = Math.max(...decoders.map(({ frames }) => frames))
    await startSource(source.port)

    await Promise.all(readers.map((reader, at) => reader.until(() => reader.count > (counts[at] ?? 0) + 60)))
    await until(() => decoders.map(({ frames }) => frames), hasMoreThan(framesBefore + 20))
    for (const { packets } of readers) {
      expect(sequenceGaps(packets)).toEqual([])
      expect(timestampSteps(packets).filter((step) => step <= 0)).toEqual([])
      expect(new Set(packets.map(({ ssrc }) => ssrc)).size).toBe(1)
      // The timestamp advances by the time that passed, so that a player keeps its pace.
      const pause = packets.reduce(
        (longest, { arrivedMs }, at) => Math.max(longest, arrivedMs - (packets[at - 1]?.arrivedMs ?? arrivedMs)),
        0,
      )
      expect(Math.max(...timestampSteps(packets)) / 90 / pause).toBeCloseTo(1, 0)
    }
    expect(decoders.map(({ complaints }) => complaints)).toEqual(['', ''])
    expect(await viewOf(service, 'outage')).toMatchObject({
      state: 'playing',
      runtime: { phase: 'playing', next_retry_at: null, readers: 7 },
    })
    for (const track of late.sdp?.media.keys() ?? []) await late.setUp(track)
    expect((await late.play()).status).toBe(200)
    await late.until(() => late.count > 30)
  })

  it('by hanging is found by the watchdog after the time of the setting', async () => {
    const source = await startSource()
    await changeSettings(service, { stall_timeout_seconds: 300 })
    const reader = await read(await create(service, 'hangs', source.url('/h264')))
    await reader.until(() => reader.count > 20)
    source.pause()
    // The setting changes during the stall: the time counts from the last frame.
    await changeSettings(service, { stall_timeout_seconds: 2 })
    const stalled = await untilPhase(service, 'hangs', 'reconnecting')
    expect(stalled).toMatchObject({
      state: 'playing',
      runtime: { restarts: 1, last_error: { message: expect.stringContaining('stopped sending') } },
    })
    expect(stalled.runtime.last_frame_age_ms).toBeGreaterThanOrEqual(2000)
    const count = reader.count
    source.resume()
    await reader.until(() => reader.count > count + 30)
    expect(sequenceGaps(reader.packets)).toEqual([])
  })

  it('before the service starts is used as soon as it is available', async () => {
    const source = await startSource()
    const first = await startService()
    await create(first, 'boots', source.url('/h264'))
    await first.stop()
    await source.stop()
    const second = await startService({ dataDir: first.dataDir })
    const waiting = await untilView(second, 'boots', ({ runtime }) => runtime.restarts >= 2)
    expect(waiting).toMatchObject({
      state: 'ready',
      runtime: {
        phase: 'reconnecting',
        desired: 'playing',
        last_error: { code: 'PIPELINE_START_TIMEOUT', message: expect.stringContaining('refuses') },
      },
    })
    await startSource(source.port)
    expect(await untilPhase(second, 'boots', 'playing')).toMatchObject({ state: 'playing', runtime: { next_retry_at: null } })
  })
})

describe('a child that is killed', () => {
  it('is replaced at once, and its readers get the next key frame in the same session', async () => {
    // By now the backoff is a minute.
    await changeSettings(service, { reconnect: { initial_delay_ms: 60_000, max_delay_seconds: 60 } })
    const reader = await read(await createPipeline(service, 'killed'))
    await reader.until(() => reader.count > 20)
    const [victim] = mediaChildren(service.enginePid())
    if (victim === undefined) throw new Error('The engine has no child')
    process.kill(victim, 'SIGKILL')
    await until(
      () => childrenOf(service.enginePid()),
      (children) => children.every(({ pid }) => pid !== victim),
    )
    const count = reader.count
    await reader.until(() => reader.count > count + 20)
    expect(sequenceGaps(reader.packets)).toEqual([])
    expect((await viewOf(service, 'killed')).runtime).toMatchObject({
      phase: 'playing',
      restarts: 1,
      last_error: { code: 'ENGINE_ERROR', message: expect.stringContaining('SIGKILL') },
    })
  })
})
