import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { cameraChanges, cameraNodes, joinNodes } from '../../../../../engine/cameras/join.ts'
import { createMonitorParser } from '../../../../../engine/cameras/monitor-output.ts'
import { classifyCameraFault } from '../../../../../engine/gst/camera-errors.ts'
import { cameraLaunchHead } from '../../../../../engine/sources/camera/line.ts'
import { parseCameraUri, validateCameraSource } from '../../../../../engine/sources/camera/mode.ts'
import { ApiError } from '../../../../../lib/errors.ts'
import type { CameraCapabilities } from '../../../../../lib/schema/camera.ts'

const camera = (listing: string, index = 0): CameraCapabilities => {
  const text = readFileSync(new URL(`../../../../fixtures/cameras/${listing}.txt`, import.meta.url), 'utf8')
  const devices = createMonitorParser()
    .push(text)
    .flatMap((event) => (event.type === 'added' ? [event.device] : []))
  const found = joinNodes(cameraNodes(devices))[index]
  if (found === undefined) throw new Error(`no camera in ${listing}`)
  return found
}

const head = (listing: string, uri: string, reencode: boolean): string =>
  cameraLaunchHead(validateCameraSource(uri, camera(listing), { reencode })).join(' ')

const refusal = (attempt: () => unknown): ApiError => {
  try {
    attempt()
  } catch (error) {
    if (error instanceof ApiError) return error
    throw error
  }
  throw new Error('it was accepted')
}

describe('the address of a camera', () => {
  it('names a device and, if it likes, encoding, size and rate', () => {
    expect(parseCameraUri('v4l2:///dev/video12')).toEqual({ device_path: '/dev/video12' })
    expect(parseCameraUri('v4l2:///dev/video0?encoding=MJPG&width=1280&height=720&fps=29.97')).toEqual({
      device_path: '/dev/video0',
      encoding: 'mjpeg',
      width: 1280,
      height: 720,
      fps: 29.97,
    })
    expect(parseCameraUri('v4l2:///dev/v4l/by-id/usb-046d_C920_A1-video-index0').device_path).toBe(
      '/dev/v4l/by-id/usb-046d_C920_A1-video-index0',
    )
  })

  const REFUSED = [
    ['v4l2:///etc/passwd', 'v4l2:///dev/video0'],
    ['v4l2:///dev/../etc/passwd', 'v4l2:///dev/video0'],
    ['v4l2:///dev/video0%20!%20filesink', 'v4l2:///dev/video0'],
    ['v4l2:///dev/v4l/by-id/..%2f..%2fmem', 'v4l2:///dev/video0'],
    ['v4l2:///dev/video%zz', 'v4l2:///dev/video0'],
    ['v4l2://host/dev/video0', 'v4l2:///dev/video0'],
    ['v4l2:///dev/video0#1', 'v4l2:///dev/video0'],
    ['not an address', 'v4l2:///dev/video0'],
    ['v4l2:///dev/video0?width=1280x720', 'width: use a whole number'],
    ['v4l2:///dev/video0?height=0', 'height: use a whole number'],
    ['v4l2:///dev/video0?fps=-1', 'fps: use frames per second'],
    ['v4l2:///dev/video0?fps=30&fps=15', 'fps: give it once'],
    ['v4l2:///dev/video0?encoding=h264,width=1', 'encoding: use mjpeg'],
    ['v4l2:///dev/video0?bitrate=5', 'Only encoding, width, height, fps'],
  ] as const
  for (const [uri, says] of REFUSED) {
    it(`is refused when it is ${uri}`, () => {
      const error = refusal(() => parseCameraUri(uri))
      expect(error.code).toBe('VALIDATION_ERROR')
      expect(error.details.issues).toMatchObject([{ path: 'source.uri', message: expect.stringContaining(says) }])
    })
  }
})

describe('what is taken from a camera', () => {
  const TAKEN = [
    // What the address leaves open: up to 1920x1080, 15 to 30 frames per second.
    ['uvc-webcam', 'v4l2:///dev/video0', true, 'image/jpeg,width=1920,height=1080,framerate=[29990/1000,30010/1000]'],
    ['uvc-webcam', 'v4l2:///dev/video0?fps=60', true, 'image/jpeg,width=1280,height=720,framerate=[59990/1000,60010/1000]'],
    [
      'uvc-webcam',
      'v4l2:///dev/video0?encoding=raw',
      true,
      'video/x-raw,format=YUY2,width=960,height=540,framerate=[14990/1000,15010/1000]',
    ],
    [
      'uvc-webcam',
      'v4l2:///dev/video0?encoding=yuyv&width=1280&height=720&fps=7.5',
      true,
      'video/x-raw,format=YUY2,width=1280,height=720,framerate=[7490/1000,7510/1000]',
    ],
    [
      'uvc-webcam',
      'v4l2:///dev/video0?width=640&height=480',
      true,
      'video/x-raw,format=YUY2,width=640,height=480,framerate=[29990/1000,30010/1000]',
    ],
    ['raspberry-pi-csi', 'v4l2:///dev/video0', false, 'video/x-h264,width=1920,height=1080,framerate=30000/1000'],
    [
      'raspberry-pi-csi',
      'v4l2:///dev/video0?encoding=nv12&width=1296&height=972&fps=42.5',
      true,
      'video/x-raw,format=NV12,width=1296,height=972,framerate=42500/1000',
    ],
    ['capture-card', 'v4l2:///dev/video0?encoding=nv12', true, 'video/x-raw,format=NV12,width=1920,height=1080'],
    [
      'capture-card',
      'v4l2:///dev/video0?encoding=uyvy&width=720&height=576&fps=25',
      true,
      'video/x-raw,format=UYVY,width=720,height=576,framerate=',
    ],
    [
      'thermal',
      'v4l2:///dev/video4?encoding=y16',
      true,
      'video/x-raw,format=GRAY16_LE,width=160,height=122,framerate=[8561/1000,8581/1000]',
    ],
    ['v4l2loopback', 'v4l2:///dev/video10', true, 'video/x-raw,format=YUY2,width=1280,height=720,framerate=[29990/1000,30010/1000]'],
  ] as const
  for (const [listing, uri, reencode, caps] of TAKEN) {
    it(`${uri} of ${listing} is ${caps}`, () => {
      expect(head(listing, uri, reencode)).toContain(` ! ${caps}`)
    })
  }

  it('comes from the node that has the encoding, whichever node the address names', () => {
    expect(head('uvc-onboard-h264', 'v4l2:///dev/video0', false)).toMatch(
      /^v4l2src device=\/dev\/video2 ! video\/x-h264,width=1920,height=1080/,
    )
    expect(head('uvc-onboard-h264', 'v4l2:///dev/video2?encoding=mjpeg', true)).toMatch(/^v4l2src device=\/dev\/video0 ! image\/jpeg/)
    expect(head('uvc-onboard-h264', 'v4l2:///dev/video0?encoding=hevc', false)).toMatch(/^v4l2src device=\/dev\/video2 ! video\/x-h265/)
  })

  it('must be re-encoded when the camera has neither H.264 nor H.265, which the error says', () => {
    const error = refusal(() => head('uvc-webcam', 'v4l2:///dev/video0', false))
    expect(error.details.issues).toMatchObject([{ path: 'encoding', message: expect.stringMatching(/mjpeg.*set encoding/) }])
    expect(refusal(() => head('uvc-onboard-h264', 'v4l2:///dev/video0?encoding=mjpeg', false)).message).toContain('set encoding')
  })

  it('is refused with what the camera does offer', () => {
    const error = refusal(() => head('uvc-onboard-h264', 'v4l2:///dev/video0?encoding=h264&width=3840&height=2160', true))
    expect(error.message).toContain('does not offer h264 3840 x 2160')
    expect(error.message).toContain('h264 1920x1080 at 30, 25, 15 fps')
    expect(error.details.offers).toContain('yuy2 1280x720 at 9 fps')
    expect(refusal(() => head('raspberry-pi-csi', 'v4l2:///dev/video0?encoding=i420&width=641&height=480', true)).message).toContain(
      'i420 32x32 to 2592x1944 in steps of 2x2 at 1 to 90 fps',
    )
    expect(refusal(() => head('thermal', 'v4l2:///dev/video4?encoding=bayer', true)).message).toContain('does not offer bayer')
  })
})

describe('cameras that come and go', () => {
  const webcam = camera('uvc-webcam')
  const other = camera('v4l2loopback')

  it('are told as the difference of two lists', () => {
    expect(cameraChanges([webcam], [webcam])).toEqual([])
    expect(cameraChanges([], [webcam])).toEqual([
      { type: 'camera_added', device_path: '/dev/video0', device_name: 'HD Pro Webcam C920', formats: 2 },
    ])
    expect(cameraChanges([webcam], [other])).toMatchObject([
      { type: 'camera_removed', device_path: '/dev/video0' },
      { type: 'camera_added' },
    ])
  })

  it('are told as removed and added when another camera takes over the path', () => {
    const changes = cameraChanges([webcam], [{ ...webcam, serial: 'another' }])
    expect(changes.map(({ type }) => type)).toEqual(['camera_removed', 'camera_added'])
  })
})

describe('what v4l2src writes when it fails', () => {
  const FROM = 'ERROR: from element /GstPipeline:pipeline0/GstV4l2Src:v4l2src0: '
  const WRITTEN = [
    [
      'device_busy',
      "Device '/dev/video0' is busy",
      'Call to S_FMT failed for YUYV @ 640x480: Device or resource busy',
      'streaming stopped, reason not-negotiated (-4)',
    ],
    ['permission', "Could not open device '/dev/video0' for reading and writing.", 'system error: Permission denied'],
    ['device_missing', "Cannot identify device '/dev/video9'.", 'system error: No such file or directory'],
    ['device_missing', "Could not open device '/dev/video0' for reading and writing.", 'system error: No such device'],
    ['unsupported', "Device '/dev/video1' is not a capture device.", 'Capabilities: 0x1a00000'],
    ['unsupported', 'Internal data stream error.', 'streaming stopped, reason not-negotiated (-4)'],
    [
      'unsupported',
      "Error getting capabilities for device '/dev/video0': It isn't a v4l2 driver. Check if it is a v4l1 driver.",
      'system error: Inappropriate ioctl for device',
    ],
  ] as const
  for (const [reason, first, ...rest] of WRITTEN) {
    it(`is ${reason} for "${first}"`, () => {
      const fault = classifyCameraFault([`${FROM}${first}`, 'Additional debug info:', ...rest])
      expect(fault?.reason).toBe(reason)
      if (reason === 'permission') expect(fault?.message).toContain('group video')
    })
  }

  it('is nothing of a camera when no camera is named', () => {
    expect(classifyCameraFault(['ERROR: from element /GstPipeline:pipeline0/GstFileSrc:filesrc0: Permission denied'])).toBeUndefined()
  })
})
