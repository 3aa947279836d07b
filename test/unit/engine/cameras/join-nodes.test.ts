import { describe, expect, it } from 'vitest'
import { cameraChanges } from '../../../../engine/cameras/join-nodes.ts'
import { recordedCamera } from '../../../helpers/media/recorded-camera.ts'

describe('cameraChanges', () => {
  const webcam = recordedCamera('uvc-webcam')
  const other = recordedCamera('v4l2loopback')

  it('are the difference of two lists', () => {
    expect(cameraChanges([webcam], [webcam])).toEqual([])
    expect(cameraChanges([], [webcam])).toEqual([
      { type: 'camera_added', device_path: '/dev/video0', device_name: 'HD Pro Webcam C920', formats: 2 },
    ])
    expect(cameraChanges([webcam], [other])).toMatchObject([
      { type: 'camera_removed', device_path: '/dev/video0' },
      { type: 'camera_added' },
    ])
  })

  it('are a removal and an addition when another camera has the same path', () => {
    const changes = cameraChanges([webcam], [{ ...webcam, serial: 'another' }])
    expect(changes.map(({ type }) => type)).toEqual(['camera_removed', 'camera_added'])
  })
})
