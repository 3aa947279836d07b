import { describe, expect, it } from 'vitest'
import { parseOutputUri, sourceScheme } from '../../../../lib/schema/pipeline.ts'

describe('addresses', () => {
  for (const [uri, parts] of [
    ['rtsp://0.0.0.0:50000/cam-1', { host: '0.0.0.0', port: 50000, path: 'cam-1' }],
    ['rtsp://[::]:1024/a_b', { host: '::', port: 1024, path: 'a_b' }],
    ['rtsp://0.0.0.0:1023/a', undefined],
    ['rtsp://0.0.0.0:65536/a', undefined],
    ['rtsp://0.0.0.0/a', undefined],
    ['rtsp://host:5000/a', undefined],
    ['rtsp://u:p@0.0.0.0:5000/a', undefined],
    ['rtsp://0.0.0.0:5000/a/b', undefined],
    ['RTSP://0.0.0.0:5000/a', undefined],
  ] as const) {
    it(`the output ${uri} is ${parts === undefined ? 'refused' : 'parsed'}`, () => expect(parseOutputUri(uri)).toEqual(parts))
  }

  for (const [uri, scheme] of [
    ['rtsp://h/', 'rtsp'],
    ['RTSPS://h/', 'rtsps'],
    ['h/x', undefined],
    ['rtsp:/h', undefined],
    ['1rtsp://h', undefined],
  ] as const) {
    it(`the scheme of ${uri} is ${scheme}`, () => expect(sourceScheme(uri)).toBe(scheme))
  }
})
