import { describe, expect, it } from 'vitest'
import { parseAddress } from '../../../../engine/faults/address.ts'
import { createPlanner } from '../../../../engine/launch/plan.ts'
import type { ProbeContext } from '../../../../engine/sources/source-kind.ts'
import { v4l2 } from '../../../../engine/sources/v4l2.ts'
import { ApiError } from '../../../../lib/errors.ts'
import type { CameraCapabilities, CameraEvent } from '../../../../lib/schema/camera.ts'
import { DEFAULT_SETTINGS } from '../../../../lib/schema/settings.ts'
import { fakeCamera } from '../../../helpers/fakes/cameras.ts'
import { configure, H264 } from '../../../helpers/media/play-launch.ts'

const [mjpeg] = fakeCamera(0).formats
const h264 = { ...mjpeg, encoding: 'h264', media_type: 'video/x-h264', device_path: '/dev/video1' } as CameraCapabilities['formats'][number]
const twoNodes = { ...fakeCamera(0), device_paths: ['/dev/video0', '/dev/video1'], formats: [...fakeCamera(0).formats, h264] }

type Answer = CameraCapabilities | ApiError | 'hangs'

const NOT_FOUND = new ApiError('NOT_FOUND', 'No camera has this device path.')
const UNAVAILABLE = new ApiError('SERVICE_UNAVAILABLE', 'gst-device-monitor-1.0 is not installed.')

/** A host whose only camera has these capabilities, or fails like this. */
const hostWith = (answer: Answer) => ({
  allowFiles: false,
  cameras: {
    capabilities: async () => {
      if (answer === 'hangs') return new Promise<never>(() => {})
      if (answer instanceof ApiError) throw answer
      return answer
    },
    onChange: () => () => {},
  },
})

const parsed = (uri: string) => ({ uri, latency_ms: 0, address: parseAddress(uri) })
const context = (answer: Answer, reencode: boolean, signal = new AbortController().signal): ProbeContext => ({
  ...hostWith(answer),
  reencode,
  signal,
  timeoutMs: 1000,
})
const lineOf = async (by: 'probe' | 'presume', answer: Answer, uri: string, reencode: boolean): Promise<string> =>
  v4l2.line(parsed(uri), await v4l2[by](parsed(uri), context(answer, reencode))).tokens.join(' ')
/** A dry run of a whole configuration. */
const check = (answer: Answer, uri: string, encoding = false) =>
  createPlanner(hostWith(answer)).check(configure(uri, encoding ? H264 : null), DEFAULT_SETTINGS)

describe('the launch line of a camera', () => {
  it.each([
    ['the node that sends H.264', 'passed through', twoNodes, '', 'v4l2src device=/dev/video1 ! video/x-h264,width=1280'],
    [
      'the format that is cheapest to decode',
      're-encoded',
      twoNodes,
      '?encoding=mjpeg',
      'v4l2src device=/dev/video0 ! image/jpeg,width=1280,height=720,framerate=[29990/1000,30010/1000]',
    ],
    [
      'its format without capabilities',
      're-encoded',
      UNAVAILABLE,
      '?encoding=bgrx',
      'v4l2src device=/dev/video0 ! video/x-raw,format=BGRx',
    ],
    ['H.264 without capabilities', 'passed through', UNAVAILABLE, '', 'v4l2src device=/dev/video0 ! video/x-h264'],
  ] as const)('uses %s when it is %s', async (_format, way, answer, query, line) => {
    for (const by of ['probe', 'presume'] as const)
      expect(await lineOf(by, answer, `v4l2:///dev/video0${query}`, way === 're-encoded')).toContain(line)
  })

  it('is checked at creation against what the camera offers', async () => {
    await expect(check(fakeCamera(0), 'v4l2:///dev/video0')).rejects.toMatchObject({
      code: 'VALIDATION_ERROR',
      details: { issues: [{ path: 'encoding', message: expect.stringContaining('set encoding') }] },
    })
    await expect(check(fakeCamera(0), 'v4l2:///dev/video0?width=1920&height=1080', true)).rejects.toMatchObject({
      code: 'VALIDATION_ERROR',
      details: { issues: [{ path: 'source.uri' }], offers: ['mjpeg 1280x720 at 30, 15 fps'] },
    })
  })

  it('may be created while the camera is not attached, unless it can never work', async () => {
    expect((await check(NOT_FOUND, 'v4l2:///dev/video9')).launch).toContain('device=/dev/video9')
    const never = { code: 'VALIDATION_ERROR', message: expect.stringContaining('Set encoding') }
    await expect(check(NOT_FOUND, 'v4l2:///dev/video9?encoding=mjpeg')).rejects.toMatchObject(never)
  })

  it('fails at start when the camera is not attached or offers other formats', async () => {
    const missing = { reason: 'device_missing', permanent: false }
    await expect(lineOf('probe', NOT_FOUND, 'v4l2:///dev/video9', false)).rejects.toMatchObject(missing)
    const other = { reason: 'unsupported', permanent: true, message: expect.stringContaining('It offers mjpeg 1280x720') }
    await expect(lineOf('probe', fakeCamera(0), 'v4l2:///dev/video0?encoding=h264', true)).rejects.toMatchObject(other)
  })

  it('does not wait for a camera that hangs when the start is cancelled', async () => {
    const stop = new AbortController()
    const probed = v4l2.probe(parsed('v4l2:///dev/video0'), context('hangs', true, stop.signal))
    stop.abort()
    await expect(probed).rejects.toThrow('cancelled')
  })
})

describe('the return of a source', () => {
  const listeners = new Set<(event: CameraEvent) => void>()
  const { onReturn } = createPlanner({
    ...hostWith(NOT_FOUND),
    cameras: {
      ...hostWith(NOT_FOUND).cameras,
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
    const unsubscribe = onReturn(configure('v4l2:///dev/video0', null), () => {
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
    onReturn(configure('rtsp://h/s', null), () => {})
    expect(listeners.size).toBe(0)
  })
})
