import { describe, expect, it } from 'vitest'
import { parseRequestUrl } from '../../../../../engine/rtsp/protocol/request-url.ts'

describe('a request URL', () => {
  it.each([
    ['rtsp://1.2.3.4:554/cam', { authority: '1.2.3.4:554', mountPath: 'cam', control: '' }],
    ['rtsp://[::1]:554/cam/', { authority: '[::1]:554', mountPath: 'cam', control: '' }],
    ['rtsp://user:pass@host/cam/stream=1?x', { authority: 'host', mountPath: 'cam', control: 'stream=1' }],
    ['RTSP://host', { authority: 'host', mountPath: '', control: '' }],
    ['*', { authority: '', mountPath: '', control: '' }],
    ['http://host/cam', undefined],
    ['rtsp://ho st/cam', undefined],
    ['/cam', undefined],
  ])('%s', (url, expected) => {
    expect(parseRequestUrl(url)).toEqual(expected)
  })
})
