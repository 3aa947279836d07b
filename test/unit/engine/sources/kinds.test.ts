import { describe, expect, it } from 'vitest'
import { checkSimple } from '../../../../engine/launch/simple.ts'
import { parseSource } from '../../../../engine/sources/kinds.ts'
import { DEFAULT_SETTINGS } from '../../../../lib/schema/settings.ts'
import { configure } from '../../../helpers/media/play-launch.ts'

describe('the dry run of a source', () => {
  const check = (uri: string, allowFiles = false) => checkSimple(configure(uri, null), DEFAULT_SETTINGS, { allowFiles })

  it.each([
    'rtsp://no.such.host.invalid/x',
    'udp://239.1.1.1:5000',
    'srt://h:1',
    'rtmp://h/a/b',
    'http://h/a.m3u8',
    'http://h/x',
    'v4l2:///dev/video0?encoding=h264',
  ])('returns a launch line for %s without contacting the source', async (uri) => {
    expect(await check(uri)).toMatchObject({ publishes: true, confidential: !/^(?:v4l2|rtsp|udp):/.test(uri) })
  })

  it.each([
    ['file:///etc/passwd', /SVC_ALLOW_FILE_SOURCES/],
    ['test://nope', /test:\/\/smpte/],
    ['v4l2:///etc/passwd', /v4l2/],
    ['v4l2:///dev/video0?colour=1', /encoding/],
    ['v4l2:///dev/video0?encoding=raw', /[Ss]et encoding/],
    ['rtsp://h:99999/x', /port/],
    ['rtsp://a%0ab@h/x', /control character/],
  ])('rejects %s', async (uri, message) => {
    await expect(check(uri)).rejects.toMatchObject({
      code: 'VALIDATION_ERROR',
      details: { issues: [{ path: 'source.uri', message: expect.stringMatching(message) }] },
    })
  })

  const NETWORK = { network: true, localSockets: true }
  it.each([
    ['rtsp://h/x', {}],
    ['udp://h:1', {}],
    ['srt://h:1', NETWORK],
    ['rtmp://h/a/b', NETWORK],
    ['https://h/x', NETWORK],
    ['file:///srv/a%20b.mp4', { files: ['/srv/a b.mp4'] }],
    ['test://smpte', {}],
    ['v4l2:///dev/video7', { devices: ['/dev/video7'] }],
  ])('%s lets its child reach %j and nothing else', async (uri, reach) => {
    const { kind, parsed } = parseSource({ uri, latency_ms: 200 })
    expect(kind.reach(parsed, await kind.presume(parsed, { allowFiles: true, reencode: true }))).toEqual(reach)
  })

  it('accepts files on a host that allows them', async () => {
    expect((await check('file:///srv/a.mp4', true)).args.join(' ')).toContain('filesrc location=/srv/a.mp4')
  })
})
