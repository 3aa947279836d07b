import { describe, expect, it } from 'vitest'
import type { Fault } from '../../../../../engine/fault.ts'
import { createPlanner } from '../../../../../engine/launch/plan.ts'
import { forbidden } from '../../../../../engine/sources/camera/access.ts'
import { presumedLaunchHead } from '../../../../../engine/sources/camera/line.ts'
import { parseCameraUri } from '../../../../../engine/sources/camera/mode.ts'
import { ApiError } from '../../../../../lib/errors.ts'
import type { CameraCapabilities, CameraEvent } from '../../../../../lib/schema/camera.ts'
import type { SimpleConfig } from '../../../../../lib/schema/pipeline.ts'
import { DEFAULT_SETTINGS } from '../../../../../lib/schema/settings.ts'
import { fakeCamera } from '../../../../helpers/fakes/cameras.ts'

const H264 = { codec: 'h264', bitrate: 800, quality: 1 } as const
const configure = (uri: string, encoding: SimpleConfig['encoding'] = null): SimpleConfig => ({
  id: 'cam',
  mode: 'simple',
  on_demand: false,
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

/** A planner on a host whose cameras answer this to every question. */
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
  (await planner(answer).plan(config, DEFAULT_SETTINGS, attempt)).launch.shown.join(' ')

describe('a pipeline of a camera', () => {
  it.each([
    [
      'the node that sends H.264, to pass it through',
      twoNodes,
      configure('v4l2:///dev/video0'),
      'v4l2src device=/dev/video1 ! video/x-h264,width=1280',
    ],
    [
      'H.264 when the host cannot tell and nothing is to be encoded',
      UNAVAILABLE,
      configure('v4l2:///dev/video3'),
      'v4l2src device=/dev/video3 ! video/x-h264 ! h264parse',
    ],
  ])('takes %s', async (_name, answer, config, line) => {
    expect(await plan(answer, config)).toContain(line)
    expect((await check(answer, config)).replaceAll("'", '')).toContain(line)
  })

  it('is held at its creation to what the camera offers', async () => {
    const unencoded = {
      code: 'VALIDATION_ERROR',
      details: { issues: [{ path: 'encoding', message: expect.stringContaining('set encoding') }] },
    }
    await expect(check(fakeCamera(0), configure('v4l2:///dev/video0'))).rejects.toMatchObject(unencoded)
    const tooLarge = { code: 'VALIDATION_ERROR', details: { issues: [{ path: 'source.uri' }], offers: ['mjpeg 1280x720 at 30, 15 fps'] } }
    await expect(check(fakeCamera(0), configure('v4l2:///dev/video0?width=1920&height=1080', H264))).rejects.toMatchObject(tooLarge)
  })

  it('may be created while its camera is not attached, but for what can never be', async () => {
    expect(await check(NOT_FOUND, configure('v4l2:///dev/video9'))).toContain('device=/dev/video9')
    const never = { code: 'VALIDATION_ERROR', message: expect.stringContaining('Set encoding') }
    await expect(check(NOT_FOUND, configure('v4l2:///dev/video9?encoding=mjpeg'))).rejects.toMatchObject(never)
  })

  it('is told at its start that the camera is not attached, or offers something else', async () => {
    await expect(plan(NOT_FOUND, configure('v4l2:///dev/video9'))).rejects.toMatchObject({ reason: 'device_missing', permanent: false })
    const other = { reason: 'unsupported', permanent: true, message: expect.stringContaining('It offers mjpeg 1280x720') }
    await expect(plan(fakeCamera(0), configure('v4l2:///dev/video0?encoding=h264', H264))).rejects.toMatchObject(other)
  })

  it('that is stopped does not wait for a camera that hangs', async () => {
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

  it('is told to the pipelines of cameras when one was plugged in, until they no longer wait', () => {
    let calls = 0
    const forget = onReturn(configure('v4l2:///dev/video0'), () => {
      calls += 1
    })
    change({ type: 'camera_removed', device_path: '/dev/video0' })
    expect(calls).toBe(0)
    change({ type: 'camera_added', device_path: '/dev/video0', device_name: 'Camera', formats: 1 })
    expect(calls).toBe(1)
    forget()
    expect(listeners.size).toBe(0)
  })

  it('concerns no other source', () => {
    onReturn(configure('rtsp://h/s'), () => {})
    expect(listeners.size).toBe(0)
  })
})

describe('a device node that may not be opened', () => {
  const message = (gid: number, mode: number): Fault => forbidden({ gid, mode, groups: 'root:x:0:\nvideo:x:44:bob\ncameras:x:990:\n' })

  it.each([
    [44, 0o20660, 'usermod -aG video'],
    [990, 0o20660, 'usermod -aG cameras'],
    [991, 0o20660, 'usermod -aG 991'],
    [44, 0o20600, 'root alone may'],
    [0, 0o20660, 'root alone may'],
  ])('of group %i with mode %o says what to do', (gid, mode, words) => {
    expect(message(gid, mode)).toMatchObject({ reason: 'permission', message: expect.stringContaining(words) })
  })
})

describe('the line for a camera that nobody could ask', () => {
  it.each([
    ['v4l2:///dev/video0', 'v4l2src device=/dev/video0 ! video/x-raw'],
    ['v4l2:///dev/video0?encoding=raw&width=640&height=480', 'v4l2src device=/dev/video0 ! video/x-raw,width=640,height=480'],
    ['v4l2:///dev/video0?encoding=yuyv&fps=29.97', 'v4l2src device=/dev/video0 ! video/x-raw,format=YUY2,framerate=30000/1001'],
    ['v4l2:///dev/video0?encoding=Y16', 'v4l2src device=/dev/video0 ! video/x-raw,format=GRAY16_LE'],
    ['v4l2:///dev/video0?encoding=xRGB', 'v4l2src device=/dev/video0 ! video/x-raw,format=xRGB'],
    ['v4l2:///dev/video0?encoding=mjpg&fps=15', 'v4l2src device=/dev/video0 ! image/jpeg,framerate=15/1'],
  ])('%s', (uri, line) => {
    expect(presumedLaunchHead(parseCameraUri(uri)).join(' ')).toBe(line)
  })
})
