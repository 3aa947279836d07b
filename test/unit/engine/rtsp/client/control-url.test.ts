import { describe, expect, it } from 'vitest'
import { baseUrl, controlUrl } from '../../../../../engine/rtsp/client/control-url.ts'

describe('the URL of a track', () => {
  it.each([
    ['rtsp://h/x', 'track1', 'rtsp://h/x/track1'],
    ['rtsp://h/x/', 'track1', 'rtsp://h/x/track1'],
    ['rtsp://h/x', '/track1', 'rtsp://h/x/track1'],
    ['rtsp://h/x?a=b', 'track1', 'rtsp://h/x?a=b/track1'],
    ['rtsp://h/x', 'rtsp://other/y/track1', 'rtsp://other/y/track1'],
    ['rtsp://h/x', 'RTSPS://other/y', 'RTSPS://other/y'],
    ['rtsp://h/x', '*', 'rtsp://h/x'],
    ['rtsp://h/x', '', 'rtsp://h/x'],
    ['rtsp://h/x', undefined, 'rtsp://h/x'],
  ])('of %s and %s is %s', (base, control, url) => {
    expect(controlUrl(base, control)).toBe(url)
  })

  it.each([
    ['rtsp://other/x/', 'rtsp://other/x/'],
    ['/x/', 'rtsp://h/x'],
    ['', 'rtsp://h/x'],
    ['http://h/x', 'rtsp://h/x'],
  ])('has the base %s only if that is an address', (given, base) => {
    expect(baseUrl(given, 'rtsp://h/x')).toBe(base)
  })
})
