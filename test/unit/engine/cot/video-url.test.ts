import { expect, it } from 'vitest'
import { createVideoUrl } from '../../../../engine/cot/video-url.ts'

it.each([
  ['rtsp://0.0.0.0:50000/uav', '0.0.0.0', false, '192.0.2.7', 'rtsp://192.0.2.7:50000/uav'],
  ['rtsp://0.0.0.0:50000/uav', '0.0.0.0', true, '192.0.2.7', 'rtsps://192.0.2.7:50000/uav'],
  ['rtsp://0.0.0.0:50000/uav', '10.0.0.1', false, '192.0.2.7', 'rtsp://10.0.0.1:50000/uav'],
  ['rtsp://10.0.0.2:50000/uav', '10.0.0.1', false, '192.0.2.7', 'rtsp://10.0.0.2:50000/uav'],
  ['rtsp://[::]:50000/uav', '::', false, '2001:db8::7', 'rtsp://[2001:db8::7]:50000/uav'],
  ['rtsp://0.0.0.0:50000/uav', '0.0.0.0', false, '[2001:db8::7]', 'rtsp://[2001:db8::7]:50000/uav'],
  ['rtsp://0.0.0.0:50000/uav', '0.0.0.0', false, 'video.example.org', 'rtsp://video.example.org:50000/uav'],
])('an output is read where others reach it: %s on %s (TLS only: %s) of %s', (uri, outputHost, tlsOnly, ownAddress, url) => {
  expect(createVideoUrl({ outputHost, tlsOnly })({ uri }, ownAddress)).toBe(url)
})

it('a pipeline without an output has no video', () => {
  expect(createVideoUrl({ outputHost: '0.0.0.0', tlsOnly: false })(null, '192.0.2.7')).toBeNull()
})
