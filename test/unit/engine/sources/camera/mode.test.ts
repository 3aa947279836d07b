import { describe, expect, it } from 'vitest'
import { cameraLine } from '../../../../../engine/sources/camera/launch-line.ts'
import { chooseCameraMode } from '../../../../../engine/sources/camera/mode.ts'
import { ApiError } from '../../../../../lib/errors.ts'
import { recordedCamera } from '../../../../helpers/media/recorded-camera.ts'

const head = (listing: string, uri: string, reencode: boolean): string =>
  cameraLine(chooseCameraMode(uri, recordedCamera(listing), { reencode })).join(' ')

const rejection = (attempt: () => unknown): ApiError => {
  try {
    attempt()
  } catch (error) {
    if (error instanceof ApiError) return error
    throw error
  }
  throw new Error('accepted')
}

describe('chooseCameraMode', () => {
  // What the address leaves open: up to 1920x1080, 15 to 30 frames per second.
  it.each([
    ['uvc-webcam', '0', 'image/jpeg,width=1920,height=1080,framerate=[29990/1000,30010/1000]'],
    ['uvc-webcam', '0?fps=60', 'image/jpeg,width=1280,height=720,framerate=[59990/1000,60010/1000]'],
    ['uvc-webcam', '0?encoding=raw', 'video/x-raw,format=YUY2,width=960,height=540,framerate=[14990/1000,15010/1000]'],
    ['uvc-webcam', '0?encoding=yuyv&width=1280&height=720&fps=7.5', 'format=YUY2,width=1280,height=720,framerate=[7490/1000,7510/1000]'],
    ['uvc-webcam', '0?width=640&height=480', 'video/x-raw,format=YUY2,width=640,height=480,framerate=[29990/1000,30010/1000]'],
    ['raspberry-pi-csi', '0?encoding=nv12&width=1296&height=972&fps=42.5', 'format=NV12,width=1296,height=972,framerate=42500/1000'],
    ['capture-card', '0?encoding=nv12', 'video/x-raw,format=NV12,width=1920,height=1080'],
    ['capture-card', '0?encoding=uyvy&width=720&height=576&fps=25', 'video/x-raw,format=UYVY,width=720,height=576,framerate='],
    ['thermal', '4?encoding=y16', 'video/x-raw,format=GRAY16_LE,width=160,height=122,framerate=[8561/1000,8581/1000]'],
    ['v4l2loopback', '10', 'video/x-raw,format=YUY2,width=1280,height=720,framerate=[29990/1000,30010/1000]'],
  ])('of %s, v4l2:///dev/video%s re-encoded is %s', (listing, address, caps) => {
    expect(head(listing, `v4l2:///dev/video${address}`, true)).toContain(caps)
  })

  it('is H.264 where that passes through', () => {
    expect(head('raspberry-pi-csi', 'v4l2:///dev/video0', false)).toContain(' ! video/x-h264,width=1920,height=1080,framerate=30000/1000')
  })

  it('uses the node with the encoding, whichever node the address names', () => {
    expect(head('uvc-onboard-h264', 'v4l2:///dev/video0', false)).toMatch(
      /^v4l2src device=\/dev\/video2 ! video\/x-h264,width=1920,height=1080/,
    )
    expect(head('uvc-onboard-h264', 'v4l2:///dev/video2?encoding=mjpeg', true)).toMatch(/^v4l2src device=\/dev\/video0 ! image\/jpeg/)
    expect(head('uvc-onboard-h264', 'v4l2:///dev/video0?encoding=hevc', false)).toMatch(/^v4l2src device=\/dev\/video2 ! video\/x-h265/)
  })

  it('requires re-encoding when the camera has neither H.264 nor H.265', () => {
    const error = rejection(() => head('uvc-webcam', 'v4l2:///dev/video0', false))
    expect(error.details.issues).toMatchObject([{ path: 'encoding', message: expect.stringMatching(/mjpeg.*set encoding/) }])
    expect(rejection(() => head('uvc-onboard-h264', 'v4l2:///dev/video0?encoding=mjpeg', false)).message).toContain('set encoding')
  })

  it('lists what the camera offers when nothing matches', () => {
    const error = rejection(() => head('uvc-onboard-h264', 'v4l2:///dev/video0?encoding=h264&width=3840&height=2160', true))
    expect(error.message).toContain('does not offer h264 3840 x 2160')
    expect(error.message).toContain('h264 1920x1080 at 30, 25, 15 fps')
    expect(error.details.offers).toContain('yuy2 1280x720 at 9 fps')
    expect(rejection(() => head('raspberry-pi-csi', 'v4l2:///dev/video0?encoding=i420&width=641&height=480', true)).message).toContain(
      'i420 32x32 to 2592x1944 in steps of 2x2 at 1 to 90 fps',
    )
    expect(rejection(() => head('thermal', 'v4l2:///dev/video4?encoding=bayer', true)).message).toContain('does not offer bayer')
  })
})
