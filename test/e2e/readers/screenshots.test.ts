import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { wholeJpeg } from '../../../engine/screenshots/jpeg/jpeg.ts'
import type { ScreenshotFile } from '../../../lib/schema/screenshot.ts'
import { frameShownIn, framesPerSecond, startFrameClock } from '../../helpers/media/frame-clock.ts'
import { freeUdpPort } from '../../helpers/ports.ts'
import { childrenOf } from '../../helpers/process/processes.ts'
import { type Service, startService } from '../../helpers/process/service.ts'
import { changeSettings, command, createPipeline, untilPhase } from '../../helpers/service/pipelines.ts'
import { shareService } from '../../helpers/service/share-service.ts'
import { until } from '../../helpers/until.ts'

const PLACE = { latitude: 60.1768, longitude: -128.4268, altitude: 14190.7, heading: 159.97 }
const FILES = '/svc/files/screenshots'

const service = shareService()

/** A pipeline of a clock, whose frames show their number; it stops at the end of the test. */
const createClock = async (host: Service, id: string, keyEvery: number, more: object = {}) => {
  const port = await freeUdpPort()
  let clock = startFrameClock(port, keyEvery)
  onTestFinished(() => clock.stop())
  await createPipeline(host, id, { source: { uri: `udp://127.0.0.1:${port}` }, ...more })
  return {
    stop: () => clock.stop(),
    start: () => {
      clock = startFrameClock(port, keyEvery)
    },
  }
}

const filesOf = async (host: Service, id: string): Promise<readonly ScreenshotFile[]> =>
  (await host.request('GET', `${FILES}?pipeline_id=${id}`)).body as ScreenshotFile[]
const filesWhen = (host: Service, id: string, least: number) =>
  until(
    () => filesOf(host, id),
    (files) => files.length >= least,
  )

const download = async (path: string): Promise<Buffer> => {
  const response = await fetch(`${service.url}${path}`)
  expect(response.status).toBe(200)
  return Buffer.from(await response.arrayBuffer())
}

const median = (values: readonly number[]): number => values.toSorted((one, other) => one - other)[values.length >> 1] ?? 0

describe('screenshots', () => {
  it('show the frame of their time, one per interval, and a snapshot shows the current frame', async () => {
    await createClock(service, 'clock', 75, { geolocation: PLACE })
    await command(service, 'clock', 'screenshots/start', { interval_seconds: 1, quality: 90 })
    await filesWhen(service, 'clock', 5)
    await command(service, 'clock', 'screenshots/stop')
    const files = (await filesOf(service, 'clock')).toReversed()
    // Each screenshot gives the wall clock time of frame 0; all must agree.
    const origins: number[] = []
    for (const file of files) {
      const jpeg = await download(`${FILES}/${file.file}`)
      expect(wholeJpeg(jpeg)?.jpeg).toHaveLength(jpeg.length)
      expect(file).toMatchObject({ pipeline_id: 'clock', width: 320, height: 240, size_bytes: jpeg.length, geolocation: PLACE })
      origins.push(Date.parse(file.created_at) - (frameShownIn(jpeg) * 1000) / framesPerSecond)
    }
    const snapshot = await fetch(`${service.url}/svc/pipeline/clock/snapshot`)
    const taken = Date.parse(snapshot.headers.get('x-created-at') ?? '')
    origins.push(taken - (frameShownIn(Buffer.from(await snapshot.arrayBuffer())) * 1000) / framesPerSecond)
    // A busy host may bring frames late.
    const agree = origins.filter((origin) => Math.abs(origin - median(origins)) < 400)
    expect(agree.length, String(origins)).toBeGreaterThanOrEqual(origins.length - 2)
    const steps = files.slice(1).map((file, at) => Date.parse(file.created_at) - Date.parse(files[at]?.created_at ?? ''))
    expect(Math.abs(median(steps) - 1000)).toBeLessThan(300)
  })

  it('show no picture of the source that a pipeline had before', async () => {
    const body = (picture: string) => ({ id: 'cam', mode: 'simple', source: { uri: `test://${picture}?width=64&height=48&fps=30` } })
    await createPipeline(service, 'cam', body('smpte'))
    const snapshot = async () => (await service.request('GET', '/svc/pipeline/cam/snapshot')).headers.get('etag')
    // All within the second for which a snapshot is shared, where the host is quick enough.
    for (const picture of ['ball', 'smpte']) {
      const before = await snapshot()
      await command(service, 'cam', 'stop')
      await service.request('PUT', '/svc/pipeline/cam', body(picture))
      await command(service, 'cam', 'play')
      const after = await snapshot()
      expect(after).not.toBeNull()
      expect(after).not.toBe(before)
    }
  })

  it('are decoded once for two hundred concurrent requests, and leave no decoder behind', async () => {
    await createPipeline(service, 'many')
    const began = performance.now()
    const answers = await Promise.all(Array.from({ length: 200 }, () => service.request('GET', '/svc/pipeline/many/snapshot?width=320')))
    const seconds = (performance.now() - began) / 1000
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
    // A snapshot is shared for a second; a busy host takes longer for all the requests.
    expect(new Set(answers.map(({ headers }) => headers.get('etag'))).size).toBeLessThanOrEqual(2 + seconds)
    expect(childrenOf(service.enginePid())).toHaveLength(1)
  })

  it('are decoded by one process while they are due, which ends with their schedule and with the play', async () => {
    await createClock(service, 'clock-2', 5)
    const decoders = () => childrenOf(service.enginePid()).filter(({ command }) => command.includes('jpegenc'))
    for (const end of ['screenshots/stop', 'stop']) {
      await service.request('DELETE', `${FILES}?pipeline_id=clock-2`)
      await command(service, 'clock-2', 'screenshots/start', { interval_seconds: 1 })
      await filesWhen(service, 'clock-2', 2)
      const [decoder] = decoders()
      expect(decoder).toBeDefined()
      await filesWhen(service, 'clock-2', 3)
      expect(decoders().map(({ pid }) => pid)).toEqual([decoder?.pid])
      expect((await command(service, 'clock-2', end)).status).toBe(200)
      await until(decoders, (left) => left.length === 0)
    }
  })

  it('pause while the source is down and go on when it is back, also after the engine was killed', async () => {
    const own = await startService()
    await changeSettings(own, { stall_timeout_seconds: 2, reconnect: { max_delay_seconds: 1 } })
    const clock = await createClock(own, 'away', 15)
    await command(own, 'away', 'screenshots/start', { interval_seconds: 1 })
    await filesWhen(own, 'away', 1)
    await clock.stop()
    expect((await untilPhase(own, 'away', 'reconnecting')).screenshots.state).toBe('playing')
    const { length: paused } = await filesOf(own, 'away')
    clock.start()
    await filesWhen(own, 'away', paused + 1)

    process.kill(own.enginePid(), 'SIGKILL')
    await own.waitForLog('engine_ready', 2)
    const before = await filesOf(own, 'away')
    expect(before.length).toBeGreaterThanOrEqual(paused + 1)
    expect(before[0]).toMatchObject({ width: 320, height: 240 })
    await filesWhen(own, 'away', before.length + 1)
    expect((await untilPhase(own, 'away', 'playing')).screenshots).toEqual({ state: 'playing', interval_seconds: 1, quality: 85 })

    const stopped = await command(own, 'away', 'stop')
    expect(stopped.body.screenshots.state).toBe('stopped')
    expect((await command(own, 'away', 'play')).body.screenshots.state).toBe('stopped')
  })

  it('are limited to the number of files of the settings, and can be deleted', async () => {
    await createPipeline(service, 'one')
    await changeSettings(service, { screenshots: { max_files: 2 } })
    await command(service, 'one', 'screenshots/start', { interval_seconds: 1, quality: 10 })
    const [first] = await filesWhen(service, 'one', 1)
    await until(
      () => filesOf(service, 'one'),
      (files) => files.length === 2 && files.every(({ file }) => file !== first?.file),
    )
    await command(service, 'one', 'screenshots/stop')
    const folder = join(service.dataDir, 'screenshots')
    await until(
      () => readdirSync(folder).length,
      (length) => length === 2,
    )
    const [newest, oldest] = await filesOf(service, 'one')
    expect((await service.request('DELETE', `${FILES}/${oldest?.file}`)).status).toBe(204)
    expect(readdirSync(folder)).toEqual([newest?.file])
    for (const path of ['..%2fservice.db', '%2fetc%2fpasswd', `${newest?.file}%00`]) {
      expect((await service.request('GET', `${FILES}/${path}`)).status).toBe(404)
    }
    expect((await service.request('DELETE', `${FILES}?pipeline_id=one`)).body).toEqual({ deleted: 1 })
    expect(readdirSync(folder)).toEqual([])
  })

  it('work for re-encoded and advanced pipelines, and are refused with a reason without pay0', async () => {
    await createPipeline(service, 'encoded', {
      encoding: { codec: 'h265', width: 320, height: 180, quality: 1 },
    })
    await createPipeline(service, 'jpeg', {
      raw_pipeline:
        'videotestsrc is-live=true ! video/x-raw,format=I420,width=208,height=104,framerate=10/1 ! jpegenc ! rtpjpegpay name=pay0',
    })
    await createPipeline(service, 'none', { raw_pipeline: 'videotestsrc is-live=true ! fakesink' })
    await createPipeline(service, 'sound', { raw_pipeline: 'audiotestsrc is-live=true ! mulawenc ! rtppcmupay name=pay0' })
    for (const [id, width, height] of [
      ['encoded', 320, 180],
      ['jpeg', 208, 104],
    ] as const) {
      expect(wholeJpeg(await download(`/svc/pipeline/${id}/snapshot`))).toMatchObject({ width, height })
    }
    for (const [id, reason] of [
      ['none', 'no_pay0'],
      ['sound', 'codec'],
    ])
      for (const [method, path] of [
        ['GET', 'snapshot'],
        ['PUT', 'screenshots/start'],
      ] as const) {
        const refusal = await service.request(method, `/svc/pipeline/${id}/${path}`)
        expect(refusal).toMatchObject({ status: 409, body: { code: 'CONFLICT', details: { reason } } })
      }
  })
})
