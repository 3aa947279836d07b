import { expect, it } from 'vitest'
import { createPlanner } from '../../../engine/launch/plan.ts'
import { ApiError } from '../../../lib/errors.ts'
import type { CameraCapabilities } from '../../../lib/schema/camera.ts'
import { DEFAULT_SETTINGS } from '../../../lib/schema/settings.ts'
import { fakeCamera } from '../../helpers/fakes/cameras.ts'
import { configure, H264, launchOf } from '../../helpers/media/play-launch.ts'

const [mjpeg] = fakeCamera(0).formats
const h264 = { ...mjpeg, encoding: 'h264', media_type: 'video/x-h264', device_path: '/dev/video1' } as CameraCapabilities['formats'][number]
const offersH264: CameraCapabilities = {
  ...fakeCamera(0),
  device_paths: ['/dev/video0', '/dev/video1'],
  formats: [...fakeCamera(0).formats, h264],
}

it.each([
  [
    'the format that is cheapest to decode',
    async () => offersH264,
    'v4l2:///dev/video0?encoding=mjpeg',
    'v4l2src device=/dev/video0 ! image/jpeg,width=1280,height=720,framerate=[29990/1000,30010/1000] ! decodebin',
  ],
  [
    'the format of the address when the formats of the camera are not known',
    async () => Promise.reject(new ApiError('SERVICE_UNAVAILABLE', 'gst-device-monitor-1.0 is not installed.')),
    'v4l2:///dev/video3?encoding=bgrx',
    'v4l2src device=/dev/video3 ! video/x-raw,format=BGRx ! queue',
  ],
])('a re-encoded camera uses %s', async (_name, capabilities, uri, line) => {
  const { check, plan } = createPlanner({ allowFiles: false, cameras: { capabilities, onChange: () => () => {} } })
  const attempt = { signal: new AbortController().signal, timeoutMs: 1000, previousFault: undefined }
  const config = configure(uri, H264)
  expect(launchOf(await plan(config, DEFAULT_SETTINGS, attempt)).shown.join(' ')).toContain(line)
  expect((await check(config, DEFAULT_SETTINGS)).launch.replaceAll("'", '')).toContain(line)
})
