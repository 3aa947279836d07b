import { describe, expect, it } from 'vitest'
import { parseCameraAddress } from '../../../../../engine/sources/camera/address.ts'
import { presumedCameraLine } from '../../../../../engine/sources/camera/launch-line.ts'

describe('presumedCameraLine', () => {
  it.each([
    ['v4l2:///dev/video0', 'v4l2src device=/dev/video0 ! video/x-raw'],
    ['v4l2:///dev/video0?encoding=raw&width=640&height=480', 'v4l2src device=/dev/video0 ! video/x-raw,width=640,height=480'],
    ['v4l2:///dev/video0?encoding=yuyv&fps=29.97', 'v4l2src device=/dev/video0 ! video/x-raw,format=YUY2,framerate=30000/1001'],
    ['v4l2:///dev/video0?encoding=Y16', 'v4l2src device=/dev/video0 ! video/x-raw,format=GRAY16_LE'],
    ['v4l2:///dev/video0?encoding=xRGB', 'v4l2src device=/dev/video0 ! video/x-raw,format=xRGB'],
    ['v4l2:///dev/video0?encoding=mjpg&fps=15', 'v4l2src device=/dev/video0 ! image/jpeg,framerate=15/1'],
    ['v4l2:///dev/video0?encoding=constructor', 'v4l2src device=/dev/video0 ! video/x-raw,format=CONSTRUCTOR'],
  ])('%s is %s', (uri, line) => {
    expect(presumedCameraLine(parseCameraAddress(uri)).join(' ')).toBe(line)
  })
})
