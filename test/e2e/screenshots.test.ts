import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { wholeJpeg } from '../../engine/screenshots/jpeg/jpeg.ts'
import type { ScreenshotFile } from '../../lib/schema/screenshot.ts'
import { type FrameClock, frameShownIn, framesPerSecond, startFrameClock } from '../helpers/media/frame-clock.ts'
import { freeUdpPort } from '../helpers/ports.ts'
import { childrenOf } from '../helpers/process/processes.ts'
import { type Service, startService } from '../helpers/process/service.ts'
import { until } from '../helpers/until.ts'

const PLACE = { latitude: 60.1768, longitude: -128.4268, altitude: 14190.7, heading: 159.97 }
const FILES = '/svc/files/screenshots'

let clock: FrameClock | undefined
afterEach(async () => {
  await clock?.stop()
  clock = undefined
})

const create = async (service: Service, id: string, uri: string, more: Record<string, unknown> = {}): Promise<void> => {
  const { status, body } = await service.request('POST', '/svc/pipeline', { id, mode: 'simple', source: { uri }, ...more })
  expect({ status, message: body.message }).toEqual({ status: 201, message: undefined })
}
const begin = (service: Service, id: string, body: Record<string, unknown> = {}) =>
  service.request('PUT', `/svc/pipeline/${id}/screenshots/start`, body)

const filesOf = async (service: Service, query = ''): Promise<readonly ScreenshotFile[]> =>
  (await service.request('GET', `${FILES}${query}`)).body as ScreenshotFile[]
const filesWhen = (service: Service, least: number) =>
  until(
    () => filesOf(service),
    (files) => files.length >= least,
  )

const download = async (service: Service, path: string): Promise<Buffer> => {
  const response = await fetch(`${service.url}${path}`)
  expect(response.status).toBe(200)
  return Buffer.from(await response.arrayBuffer())
}

const median = (values: readonly number[]): number => values.toSorted((one, other) => one - other)[values.length >> 1] ?? 0

describe('screenshots', () => {
  it('show the frame of their time, one per interval, and a snapshot shows the current frame', async () => {
    const service = await startService()
    const port = await freeUdpPort()
    clock = startFrameClock(port, 75)
    await create(service, 'clock', `udp://127.0.0.1:${port}`, { geolocation: PLACE })
    await begin(service, 'clock', { interval_seconds: 1, quality: 90 })
    await filesWhen(service, 6)
    await service.request('PUT', '/svc/pipeline/clock/screenshots/stop')
    const files = (await filesOf(service)).toReversed()
    // Each screenshot gives the wall clock time of frame 0; all must agree.
    const origins: number[] = []
    for (const file of files) {
      const jpeg = await download(service, `${FILES}/${file.file}`)
      expect(wholeJpeg(jpeg)?.jpeg).toHaveLength(jpeg.length)
      expect(file).toMatchObject({ pipeline_id: 'clock', width: 320, height: 240, size_bytes: jpeg.length, geolocation: PLACE })
      origins.push(Date.parse(file.created_at) - (frameShownIn(jpeg) * 1000) / framesPerSecond)
    }
    const snapshot = await fetch(`${service.url}/svc/pipeline/clock/snapshot`)
    const taken = Date.parse(snapshot.headers.get('x-created-at') ?? '')
    origins.push(taken - (frameShownIn(Buffer.from(await snapshot.arrayBuffer())) * 1000) / framesPerSecond)
    for (const origin of origins) expect(Math.abs(origin - median(origins))).toBeLessThan(400)
    const steps = files.slice(1).map((file, at) => Date.parse(file.created_at) - Date.parse(files[at]?.created_at ?? ''))
    expect(Math.abs(median(steps) - 1000)).toBeLessThan(300)
    await service.stop()
  })

  it('show no picture of the source that a pipeline had before', async () => {
    const service = await startService()
    const body = (picture: string) => ({ id: 'cam', mode: 'simple', source: { uri: `test://${picture}?width=64&height=48&fps=30` } })
    expect((await service.request('POST', '/svc/pipeline', body('smpte'))).status).toBe(201)
    const snapshot = async () => (await service.request('GET', '/svc/pipeline/cam/snapshot')).headers.get('etag')
    // All within the second for which a snapshot is shared, where the host is quick enough.
    for (const picture of ['ball', 'smpte']) {
      const before = await snapshot()
      await service.request('PUT', '/svc/pipeline/cam/stop')
      await service.request('PUT', '/svc/pipeline/cam', body(picture))
      await service.request('PUT', '/svc/pipeline/cam/play')
      const after = await snapshot()
      expect(after).not.toBeNull()
      expect(after).not.toBe(before)
    }
    await service.stop()
  })

  it('are decoded once for two hundred concurrent requests, and leave no decoder behind', async () => {
    const service = await startService()
    await create(service, 'many', 'test://ball?width=640&height=360&fps=15')
    const engine = service.enginePid()
    const answers = await Promise.all(Array.from({ length: 200 }, () => service.request('GET', '/svc/pipeline/many/snapshot?width=320')))
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
    expect(new Set(answers.map(({ headers }) => headers.get('etag'))).size).toBeLessThanOrEqual(2)
    expect(childrenOf(engine)).toHaveLength(1)
    await service.stop()
  })

  it('are decoded by one process while they are due, which ends with their schedule and with the play', async () => {
    const service = await startService()
    const port = await freeUdpPort()
    clock = startFrameClock(port, 5)
    await create(service, 'clock-2', `udp://127.0.0.1:${port}`)
    const engine = service.enginePid()
    const decoders = () => childrenOf(engine).filter(({ command }) => command.includes('jpegenc'))
    for (const end of ['screenshots/stop', 'stop']) {
      await service.request('DELETE', `${FILES}?pipeline_id=clock-2`)
      await begin(service, 'clock-2', { interval_seconds: 1 })
      await filesWhen(service, 2)
      const [decoder] = decoders()
      expect(decoder).toBeDefined()
      await filesWhen(service, 4)
      expect(decoders().map(({ pid }) => pid)).toEqual([decoder?.pid])
      expect((await service.request('PUT', `/svc/pipeline/clock-2/${end}`)).status).toBe(200)
      await until(decoders, (left) => left.length === 0)
    }
    await service.stop()
  })

  it('pause while the source is down and go on when it is back, also after the engine was killed', async () => {
    const service = await startService()
    await service.request('PUT', '/svc/settings', { stall_timeout_seconds: 2, reconnect: { max_delay_seconds: 1 } })
    const port = await freeUdpPort()
    clock = startFrameClock(port, 15)
    await create(service, 'away', `udp://127.0.0.1:${port}`)
    await begin(service, 'away', { interval_seconds: 1 })
    await filesWhen(service, 2)
    await clock.stop()
    const phase = (wanted: string) =>
      until(
        () => service.request('GET', '/svc/pipeline/away'),
        ({ body }) => body.runtime.phase === wanted,
      )
    expect((await phase('reconnecting')).body.screenshots.state).toBe('playing')
    const { length: paused } = await filesOf(service)
    clock = startFrameClock(port, 15)
    await filesWhen(service, paused + 2)

    process.kill(service.enginePid(), 'SIGKILL')
    await service.waitForLog('engine_ready', 2)
    const before = await filesOf(service)
    expect(before.length).toBeGreaterThanOrEqual(paused + 2)
    expect(before[0]).toMatchObject({ width: 320, height: 240 })
    await filesWhen(service, before.length + 2)
    expect((await phase('playing')).body.screenshots).toEqual({ state: 'playing', interval_seconds: 1, quality: 85 })

    const stopped = await service.request('PUT', '/svc/pipeline/away/stop')
    expect(stopped.body.screenshots.state).toBe('stopped')
    expect((await service.request('PUT', '/svc/pipeline/away/play')).body.screenshots.state).toBe('stopped')
    await service.stop()
  })

  it('are limited to the number of files of the settings, and can be deleted', async () => {
    const service = await startService()
    await create(service, 'one', 'test://ball?width=320&height=240&fps=15')
    await service.request('PUT', '/svc/settings', { screenshots: { max_files: 2 } })
    await begin(service, 'one', { interval_seconds: 1, quality: 10 })
    const [first] = await filesWhen(service, 1)
    await until(
      () => filesOf(service),
      (files) => files.length === 2 && files.every(({ file }) => file !== first?.file),
    )
    await service.request('PUT', '/svc/pipeline/one/screenshots/stop')
    const folder = join(service.dataDir, 'screenshots')
    await until(
      () => readdirSync(folder).length,
      (length) => length === 2,
    )
    const [newest, oldest] = await filesOf(service)
    expect((await service.request('DELETE', `${FILES}/${oldest?.file}`)).status).toBe(204)
    expect(readdirSync(folder)).toEqual([newest?.file])
    for (const path of ['..%2fservice.db', '%2fetc%2fpasswd', `${newest?.file}%00`]) {
      expect((await service.request('GET', `${FILES}/${path}`)).status).toBe(404)
    }
    expect((await service.request('DELETE', `${FILES}?pipeline_id=one`)).body).toEqual({ deleted: 1 })
    expect(readdirSync(folder)).toEqual([])
    await service.stop()
  })

  it('work for re-encoded and advanced pipelines, and are refused with a reason without pay0', async () => {
    const service = await startService()
    await create(service, 'encoded', 'test://ball?width=640&height=360&fps=15', {
      encoding: { codec: 'h265', width: 320, height: 180, quality: 1 },
    })
    await service.request('POST', '/svc/pipeline', {
      id: 'jpeg',
      mode: 'advanced',
      raw_pipeline:
        'videotestsrc is-live=true ! video/x-raw,format=I420,width=208,height=104,framerate=10/1 ! jpegenc ! rtpjpegpay name=pay0',
    })
    await service.request('POST', '/svc/pipeline', { id: 'none', mode: 'advanced', raw_pipeline: 'videotestsrc is-live=true ! fakesink' })
    for (const [id, width, height] of [
      ['encoded', 320, 180],
      ['jpeg', 208, 104],
    ] as const) {
      expect(wholeJpeg(await download(service, `/svc/pipeline/${id}/snapshot`))).toMatchObject({ width, height })
    }
    for (const method of ['GET', 'PUT'] as const) {
      const path = method === 'GET' ? '/svc/pipeline/none/snapshot' : '/svc/pipeline/none/screenshots/start'
      expect(await service.request(method, path)).toMatchObject({ status: 409, body: { code: 'CONFLICT', details: { reason: 'no_pay0' } } })
    }
    await service.stop()
  })
})
