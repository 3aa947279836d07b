import { describe, expect, it } from 'vitest'
import { createPlanner } from '../../../../../engine/launch/plan.ts'
import { ApiError } from '../../../../../lib/errors.ts'
import type { CameraCapabilities, CameraEvent } from '../../../../../lib/schema/camera.ts'
import type { SimpleConfig } from '../../../../../lib/schema/pipeline.ts'
import { DEFAULT_SETTINGS } from '../../../../../lib/schema/settings.ts'
import { fakeCamera } from '../../../../helpers/fakes/cameras.ts'
import { launchOf } from '../../../../helpers/media/play-launch.ts'

const H264 = { codec: 'h264', bitrate: 800, quality: 1 } as const
const configure = (uri: string, encoding: SimpleConfig['encoding'] = null): SimpleConfig => ({
  id: 'cam',
  mode: 'simple',
  on_demand: false,
  push: [],
  ephemeral: false,
  output: null,
  klv_config: { pass_klv: false, auto_extract_geolocation: false },
  source: { uri, latency_ms: 200 },
  encoding,
})

const [mjpeg] = fakeCamera(0).formats
const h264 = { ...mjpeg, encoding: 'h264', media_type: 'video/x-h264', device_path: '/dev/video1' } as CameraCapabilities['formats'][number]
const twoNodes: CameraCapabilities = {
  ...fakeCamera(0),
  device_paths: ['/dev/video0', '/dev/video1'],
  formats: [...fakeCamera(0).formats, h264],
}

type Answer = CameraCapabilities | ApiError

const NOT_FOUND = new ApiError('NOT_FOUND', 'No camera has this device path.')
const UNAVAILABLE = new ApiError('SERVICE_UNAVAILABLE', 'gst-device-monitor-1.0 is not installed.')

/** A planner on a host whose only camera has these capabilities, or fails like this. */
const planner = (answer: Answer) =>
  createPlanner({
    allowFiles: false,
    cameras: {
      capabilities: async () => {
        if (answer instanceof ApiError) throw answer
        return answer
      },
      onChange: () => () => {},
    },
  })

const attempt = { signal: new AbortController().signal, timeoutMs: 1000, previousFault: undefined }
const check = async (answer: Answer, config: SimpleConfig): Promise<string> =>
  (await planner(answer).check(config, DEFAULT_SETTINGS)).launch
const plan = async (answer: Answer, config: SimpleConfig): Promise<string> =>
  launchOf(await planner(answer).plan(config, DEFAULT_SETTINGS, attempt)).shown.join(' ')

describe('the launch line of a camera', () => {
  it.each([
    [
      'the node that sends H.264 when it is passed through',
      twoNodes,
      configure('v4l2:///dev/video0'),
      'v4l2src device=/dev/video1 ! video/x-h264,width=1280',
    ],
    [
      'the format that is cheapest to decode when it is re-encoded',
      twoNodes,
      configure('v4l2:///dev/video0?encoding=mjpeg', H264),
      'v4l2src device=/dev/video0 ! image/jpeg,width=1280,height=720,framerate=[29990/1000,30010/1000] ! decodebin',
    ],
    [
      'the format in the address when capabilities are unavailable',
      UNAVAILABLE,
      configure('v4l2:///dev/video3?encoding=bgrx', H264),
      'v4l2src device=/dev/video3 ! video/x-raw,format=BGRx ! queue',
    ],
    [
      'H.264 when capabilities are unavailable and the video is passed through',
      UNAVAILABLE,
      configure('v4l2:///dev/video3'),
      'v4l2src device=/dev/video3 ! video/x-h264 ! h264parse',
    ],
  ])('uses %s', async (_name, answer, config, line) => {
    expect(await plan(answer, config)).toContain(line)
    expect((await check(answer, config)).replaceAll("'", '')).toContain(line)
  })

  it('is checked at creation against what the camera offers', async () => {
    const unencoded = {
      code: 'VALIDATION_ERROR',
      details: { issues: [{ path: 'encoding', message: expect.stringContaining('set encoding') }] },
    }
    await expect(check(fakeCamera(0), configure('v4l2:///dev/video0'))).rejects.toMatchObject(unencoded)
    const tooLarge = { code: 'VALIDATION_ERROR', details: { issues: [{ path: 'source.uri' }], offers: ['mjpeg 1280x720 at 30, 15 fps'] } }
    await expect(check(fakeCamera(0), configure('v4l2:///dev/video0?width=1920&height=1080', H264))).rejects.toMatchObject(tooLarge)
  })

  it('may be created while the camera is not attached, unless it can never work', async () => {
    expect(await check(NOT_FOUND, configure('v4l2:///dev/video9'))).toContain('device=/dev/video9')
    const never = { code: 'VALIDATION_ERROR', message: expect.stringContaining('Set encoding') }
    await expect(check(NOT_FOUND, configure('v4l2:///dev/video9?encoding=mjpeg'))).rejects.toMatchObject(never)
  })

  it('fails at start when the camera is not attached or offers other formats', async () => {
    await expect(plan(NOT_FOUND, configure('v4l2:///dev/video9'))).rejects.toMatchObject({ reason: 'device_missing', permanent: false })
    const other = { reason: 'unsupported', permanent: true, message: expect.stringContaining('It offers mjpeg 1280x720') }
    await expect(plan(fakeCamera(0), configure('v4l2:///dev/video0?encoding=h264', H264))).rejects.toMatchObject(other)
  })

  it('does not wait for a camera that hangs when the start is cancelled', async () => {
    const stop = new AbortController()
    const { plan: hang } = createPlanner({
      allowFiles: false,
      cameras: { capabilities: () => new Promise(() => {}), onChange: () => () => {} },
    })
    const planned = hang(configure('v4l2:///dev/video0'), DEFAULT_SETTINGS, { ...attempt, signal: stop.signal })
    stop.abort()
    await expect(planned).rejects.toThrow('cancelled')
  })
})

describe('the return of a source', () => {
  const listeners = new Set<(event: CameraEvent) => void>()
  const { onReturn } = createPlanner({
    allowFiles: false,
    cameras: {
      capabilities: () => Promise.reject(NOT_FOUND),
      onChange: (listener) => {
        listeners.add(listener)
        return () => listeners.delete(listener)
      },
    },
  })
  const change = (event: CameraEvent): void => {
    for (const listener of listeners) listener(event)
  }

  it('calls back pipelines of cameras when one was plugged in, until they unsubscribe', () => {
    let calls = 0
    const unsubscribe = onReturn(configure('v4l2:///dev/video0'), () => {
      calls += 1
    })
    change({ type: 'camera_removed', device_path: '/dev/video0' })
    expect(calls).toBe(0)
    change({ type: 'camera_added', device_path: '/dev/video0', device_name: 'Camera', formats: 1 })
    expect(calls).toBe(1)
    unsubscribe()
    expect(listeners.size).toBe(0)
  })

  it('does not subscribe for other sources', () => {
    onReturn(configure('rtsp://h/s'), () => {})
    expect(listeners.size).toBe(0)
  })
})
