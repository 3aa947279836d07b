import { describe, expect, it } from 'vitest'
import { cameraFault } from '../../../../engine/gst/camera-errors.ts'

describe('cameraFault', () => {
  const FROM = 'ERROR: from element /GstPipeline:pipeline0/GstV4l2Src:v4l2src0: '
  const MESSAGES: readonly (readonly [reason: string, first: string, ...rest: string[]])[] = [
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
  ]
  it.each(MESSAGES)('answers %s for %s', (reason, first, ...rest) => {
    const fault = cameraFault([`${FROM}${first}`, 'Additional debug info:', ...rest])
    expect(fault?.reason).toBe(reason)
    if (reason === 'permission') expect(fault?.message).toContain('group video')
  })

  it('answers nothing for lines that mention no camera', () => {
    expect(cameraFault(['ERROR: from element /GstPipeline:pipeline0/GstFileSrc:filesrc0: Permission denied'])).toBeUndefined()
  })
})
