import { describe, expect, it } from 'vitest'
import { joinAddress, splitAddress, takesCredentials } from '../../../../../../handlers/dashboard/page/words/address.ts'

const typed = (uri: string, user = '', password = '') => ({ uri, user, password, keepsCredentials: false })

describe('the address of a source in the form', () => {
  it.each([
    [typed('rtsp://10.0.0.5/a', 'admin', 'p@ss/w:rd#1%'), 'rtsp://admin:p%40ss%2Fw%3Ard%231%25@10.0.0.5/a'],
    [typed('rtsps://cam:322', 'viewer'), 'rtsps://viewer@cam:322'],
    [typed('http://[::1]:80/?a=b@c', '', 'pä'), 'http://:p%C3%A4@[::1]:80/?a=b@c'],
    [typed('rtsp://10.0.0.5/live@2'), 'rtsp://10.0.0.5/live@2'],
    [{ ...typed('rtsp://10.0.0.5/a'), keepsCredentials: true }, 'rtsp://***@10.0.0.5/a'],
  ])('%j is %s, and the other way round', (address, uri) => {
    expect(joinAddress(address)).toBe(uri)
    expect(splitAddress(uri)).toEqual(address)
  })

  it.each([
    // As cameras and people write them: not encoded.
    ['rtsp://admin:p@ss:w%rd@10.0.0.5/a', typed('rtsp://10.0.0.5/a', 'admin', 'p@ss:w%rd')],
    ['RTSP://u:p@Cam/A', typed('rtsp://Cam/A', 'u', 'p')],
  ])('of %s gets its credentials into their fields', (uri, address) => expect(splitAddress(uri)).toEqual(address))

  it('has credentials of its own where they were just typed, and none in other schemes', () => {
    expect(joinAddress(typed(' rtsp://a:b@cam/x ', 'c', 'd'))).toBe('rtsp://a:b@cam/x')
    expect(joinAddress(typed('srt://10.0.0.5:9000', 'c', 'd'))).toBe('srt://10.0.0.5:9000')
    expect(['', 'rtsp://x', 'srt://x', 'v4l2:///dev/video0', 'test://ball'].map(takesCredentials)).toEqual([
      true,
      true,
      false,
      false,
      false,
    ])
  })

  it('takes stored credentials away when they are replaced', () =>
    expect(joinAddress({ ...typed('rtsp://cam/x', 'u', 'new'), keepsCredentials: true })).toBe('rtsp://u:new@cam/x'))
})
