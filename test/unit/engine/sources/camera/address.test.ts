import { describe, expect, it } from 'vitest'
import { parseCameraAddress } from '../../../../../engine/sources/camera/address.ts'

describe('parseCameraAddress', () => {
  it('reads a device and optional encoding, size and frame rate', () => {
    expect(parseCameraAddress('v4l2:///dev/video12')).toEqual({ device_path: '/dev/video12' })
    expect(parseCameraAddress('v4l2:///dev/video0?encoding=MJPG&width=1280&height=720&fps=29.97')).toEqual({
      device_path: '/dev/video0',
      encoding: 'mjpeg',
      width: 1280,
      height: 720,
      fps: 29.97,
    })
    expect(parseCameraAddress('v4l2:///dev/v4l/by-id/usb-046d_C920_A1-video-index0').device_path).toBe(
      '/dev/v4l/by-id/usb-046d_C920_A1-video-index0',
    )
  })

  const INVALID = [
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
    ['v4l2:///dev/video0?fps=30&fps=15', 'fps: give it only once'],
    ['v4l2:///dev/video0?encoding=h264,width=1', 'encoding: use mjpeg'],
    ['v4l2:///dev/video0?bitrate=5', 'Use only the parameters encoding, width, height, fps'],
  ] as const
  it.each(INVALID)('rejects %s', (uri, message) => {
    expect(() => parseCameraAddress(uri)).toThrow(
      expect.objectContaining({
        code: 'VALIDATION_ERROR',
        details: { issues: [{ path: 'source.uri', message: expect.stringContaining(message) }] },
      }),
    )
  })

  it('accepts only own names as aliases of encodings', () => {
    expect(parseCameraAddress('v4l2:///dev/video0?encoding=constructor').encoding).toBe('constructor')
  })
})
