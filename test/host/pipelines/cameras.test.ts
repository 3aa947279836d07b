import { resolve } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { followSse, type SseBlock, type SseClient } from '../../helpers/api/sse-client.ts'
import { type CameraMock, startCameraMock } from '../../helpers/media/camera-mock.ts'
import { ffmpegDecode, ffprobe } from '../../helpers/media/players.ts'
import { request } from '../../helpers/process/service.ts'
import { temporaryDataDir } from '../../helpers/process/temporary-data-dir.ts'
import { outputOf } from '../../helpers/service/pipelines.ts'
import { until } from '../../helpers/until.ts'

const READY = /^.*"event":"service_ready".*$/m
const ENTRY = resolve(import.meta.dirname, '../../../dist/node.js')

/** Patience for a start inside the mock, milliseconds: ten times the usual time. */
const START_PATIENCE_MS = 8000
const STARTS = 3

let mock: CameraMock
let url: string

/** The built service as a program that sees the mock's cameras and no others. */
beforeEach(async () => {
  // The engine binds a port before it uses it, so other programs may have some of them.
  const firstPort = 10_000 + (process.pid % 36) * 50
  // The mock works by a preloaded library, which no sandbox lets in.
  const environment = {
    SVC_PORT: '0',
    SVC_DATA_DIR: temporaryDataDir(),
    SVC_OUTPUT_PORTS: `${firstPort}-${firstPort + 49}`,
    SVC_SANDBOX: 'off',
  }
  for (let start = 0; start < STARTS; start += 1) {
    mock = startCameraMock([process.execPath, ENTRY], environment)
    // On a busy machine a program may hang in umockdev's preloaded library before its first line; then the mock is started again.
    const begun = await until(mock.stderr, (text) => text !== '', START_PATIENCE_MS).catch(() => '')
    if (begun !== '') {
      const [ready = ''] = READY.exec(await until(mock.stderr, (text) => READY.test(text))) ?? []
      url = (JSON.parse(ready) as { url: string }).url
      return
    }
    process.kill(mock.pid, 'SIGKILL')
  }
  throw new Error(`the service wrote nothing in ${STARTS} starts inside the mock`)
})
afterEach(() => mock.close())

const ask = (method: string, path: string, body?: unknown) => request(`${url}${path}`, method, body)
const follow = async (path: string, headers: Record<string, string> = {}): Promise<SseClient> => {
  const response = await fetch(`${url}${path}`, { headers })
  expect(response.status).toBe(200)
  return followSse(response)
}
const listed = async () => (await ask('GET', '/svc/cameras')).body as readonly { device_path: string; formats: number }[]

const H264 = { codec: 'h264', bitrate: 800, width: 320, height: 240, quality: 1 }
const ENCODED = [{ codec_name: 'h264', width: 320, height: 240 }]
const camera = (id: string, uri: string, more: Record<string, unknown> = {}) => ({ id, mode: 'simple', source: { uri }, ...more })

/** The next status in this phase; skips others. */
const nextIn = async (client: SseClient, wanted: string): Promise<SseBlock> => {
  for (;;) {
    const block = await client.nextOf('pipeline_status')
    if (block.data.runtime.phase === wanted) return block
  }
}

describe('cameras', () => {
  it('are listed with their formats when they are plugged in, and passed through where they have H.264', async () => {
    expect(await listed()).toEqual([])
    for (const path of ['/dev/video0', '/etc/passwd']) expect((await ask('GET', `/svc/camera?path=${path}`)).status).toBe(404)
    await mock.plug('onboard')
    // Its two nodes appear one after the other.
    await expect.poll(async () => (await listed())[0]?.formats).toBe(2)
    const identity = {
      device_path: '/dev/video2',
      device_paths: ['/dev/video2', '/dev/video4'],
      device_name: 'Mock H264 Camera',
      driver: 'uvcvideo',
      bus_info: 'usb-0000:00:14.0-2',
      serial: '32e4_Mock_H264',
    }
    expect(await listed()).toEqual([{ ...identity, formats: 2 }])
    const mjpeg = [
      { width: 1280, height: 720, frame_rates: [30, 15] },
      { width: 640, height: 480 },
    ]
    const h264 = [{ width: 640, height: 480, frame_rates: [30] }]
    expect((await ask('GET', '/svc/camera?path=/dev/video4')).body).toMatchObject({
      ...identity,
      formats: [
        { encoding: 'mjpeg', media_type: 'image/jpeg', sizes: mjpeg },
        { encoding: 'h264', media_type: 'video/x-h264', device_path: '/dev/video4', sizes: h264 },
      ],
    })
    const { status, body } = await ask('POST', '/svc/pipeline', camera('h264', 'v4l2:///dev/video2'))
    expect({ status, encoding: body.encoding }).toEqual({ status: 201, encoding: null })
    const decoded = await ffmpegDecode(outputOf(body), 60)
    expect([decoded.frames, decoded.errors.filter((line) => line.includes('h264'))]).toEqual([60, []])
  })

  it('send an event soon after they are plugged in or unplugged, also to a client that reconnects', async () => {
    const [cameras, everything] = [await follow('/svc/cameras/events'), await follow('/svc/events')]
    expect(await cameras.next()).toEqual({ retry: '2000' })
    const plugged = await mock.plug('webcam')
    const added = await cameras.nextOf('camera_added')
    expect(Date.now() - plugged).toBeLessThan(5000)
    expect(added.data).toEqual({ device_path: '/dev/video0', device_name: 'Mock UVC Camera', formats: 2 })
    expect(await everything.nextOf('camera_added')).toEqual(added)
    const unplugged = await mock.unplug('webcam')
    const removed = await cameras.nextOf('camera_removed')
    expect(Date.now() - unplugged).toBeLessThan(5000)
    expect(removed.data).toEqual({ device_path: '/dev/video0' })
    const again = await follow('/svc/cameras/events', { 'last-event-id': added.id ?? '' })
    expect([await again.next(), await again.next()]).toEqual([{ retry: '2000' }, removed])
  })

  it('limit a pipeline to the modes they offer, and accept any mode while they are not attached', async () => {
    await mock.plug('webcam')
    await expect.poll(listed).toHaveLength(1)
    const validate = (uri: string, more?: Record<string, unknown>) => ask('POST', '/svc/pipeline/validate', camera('cam', uri, more))
    const unencoded = await validate('v4l2:///dev/video0')
    expect(unencoded).toMatchObject({ status: 400, body: { details: { issues: [{ path: 'encoding' }] } } })
    expect(unencoded.body.message).toMatch(/set encoding/)
    const tooLarge = await validate('v4l2:///dev/video0?width=1920&height=1080', { encoding: H264 })
    expect(tooLarge).toMatchObject({ status: 400, body: { details: { issues: [{ path: 'source.uri' }] } } })
    expect(tooLarge.body.details.offers).toContain('mjpeg 1280x720 at 30, 15 fps')
    const good = await validate('v4l2:///dev/video0?fps=15', { encoding: H264 })
    expect(good).toMatchObject({ status: 200, body: { valid: true } })
    expect(good.body.launch).toContain('image/jpeg,width=1280,height=720,framerate=[14990/1000,15010/1000]')

    expect((await ask('POST', '/svc/pipeline', camera('later', 'v4l2:///dev/video9', { on_demand: true }))).status).toBe(201)
    const began = performance.now()
    const failsWith = (reason: string, cause: string) => ({
      status: 500,
      body: { details: { reason, cause: expect.stringContaining(cause) } },
    })
    expect(await ask('PUT', '/svc/pipeline/later/play')).toMatchObject(failsWith('device_missing', '/dev/video9'))
    expect(performance.now() - began).toBeLessThan(5000)
    await mock.busy('webcam')
    const busy = await ask('POST', '/svc/pipeline', camera('busy', 'v4l2:///dev/video0?encoding=mjpeg', { encoding: H264 }))
    expect(busy).toMatchObject(failsWith('device_busy', 'another program'))
  })

  it('are re-encoded, and play again by themselves after being unplugged and plugged in', async () => {
    await mock.plug('webcam')
    const uri = 'v4l2:///dev/video0?encoding=mjpeg&width=640&height=480'
    const created = await ask('POST', '/svc/pipeline', camera('cam', uri, { encoding: H264 }))
    expect(created).toMatchObject({ status: 201, body: { state: 'playing' } })
    const address = outputOf(created.body)
    expect(await ffprobe(address)).toMatchObject(ENCODED)
    expect((await ffmpegDecode(address, 30)).frames).toBe(30)

    const events = await follow('/svc/pipeline/cam/status/events')
    await nextIn(events, 'playing')
    await mock.unplug('webcam')
    const lost = await nextIn(events, 'reconnecting')
    expect(lost.data).toMatchObject({ state: 'playing', runtime: { last_error: { message: expect.stringContaining('not attached') } } })
    // The backoff grows with each retry; the camera's return starts the pipeline at once.
    await expect.poll(async () => (await ask('GET', '/svc/pipeline/cam')).body.runtime.restarts).toBeGreaterThanOrEqual(3)
    await mock.plug('webcam')
    await nextIn(events, 'playing')
    expect(await ffprobe(address)).toMatchObject(ENCODED)
    expect((await ask('PUT', '/svc/pipeline/cam/stop')).status).toBe(200)
  })

  it('with raw video are encoded: a driver with stepwise sizes, and 16-bit grey', async () => {
    for (const [name, id, uri] of [
      ['stepwise', 'csi', 'v4l2:///dev/video6'],
      ['thermal', 'thermal', 'v4l2:///dev/video5?encoding=y16'],
    ] as const) {
      await mock.plug(name)
      await expect.poll(async () => (await listed()).some(({ device_path }) => uri.includes(device_path))).toBe(true)
      const { status, body } = await ask('POST', '/svc/pipeline', camera(id, uri, { encoding: H264 }))
      expect({ status, cause: body.details?.cause }).toEqual({ status: 201, cause: undefined })
      expect(await ffprobe(outputOf(body))).toMatchObject(ENCODED)
    }
  })
})
