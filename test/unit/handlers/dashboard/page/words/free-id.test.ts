import { expect, it } from 'vitest'
import { freeId } from '../../../../../../handlers/dashboard/page/words/free-id.ts'

it.each([
  ['HD Pro Webcam C920 (046d:082d)', [], 'HD-Pro-Webcam-C920-046d-082d'],
  ['Küche', ['K-che', 'K-che-2'], 'K-che-3'],
  ['カメラ', ['camera'], 'camera-2'],
  ['x'.repeat(100), [], 'x'.repeat(48)],
])('makes an id of the camera %s beside %j: %s', (name, taken, id) => expect(freeId(name, new Set(taken))).toBe(id))
