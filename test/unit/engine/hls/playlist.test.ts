import { describe, expect, it } from 'vitest'
import { parseAttributes } from '../../../../engine/hls/attributes.ts'
import { type Playlist, parsePlaylist } from '../../../../engine/hls/playlist.ts'
import { chooseVariant, dueSegments, reloadSeconds } from '../../../../engine/hls/schedule.ts'
import { atOnce } from '../../../helpers/at-once.ts'

type Media = Extract<Playlist, { readonly kind: 'media' }>

const media = (...lines: readonly string[]): Media => {
  const playlist = atOnce(parsePlaylist(['#EXTM3U', ...lines].join('\n')))
  if (playlist?.kind !== 'media') throw new Error('It is no media playlist')
  return playlist
}

describe('a playlist', () => {
  it('has segments with their ranges, keys, maps, gaps and discontinuities', () => {
    const { segments, targetSeconds, ended } = media(
      '#EXT-X-TARGETDURATION:4',
      '#EXT-X-MEDIA-SEQUENCE:7',
      '#EXT-X-KEY:METHOD=AES-128,URI="a,b=c.key",IV=0x0A',
      '#EXT-X-MAP:URI="init.mp4",BYTERANGE="100@20"',
      '#EXTINF:3.5,a title, with commas',
      '#EXT-X-BYTERANGE:100@10',
      'all.mp4',
      '',
      '#EXT-X-DISCONTINUITY',
      '#EXT-X-KEY:METHOD=NONE',
      '#EXTINF:4\r',
      '#EXT-X-BYTERANGE:50\r',
      'all.mp4\r',
      '#EXT-X-GAP',
      '#EXTINF:4,',
      'missing.mp4',
      '#EXTINF:4,',
      'last.mp4',
      '#EXT-X-ENDLIST',
    )
    const key = { method: 'AES-128', uri: 'a,b=c.key', iv: '0A' }
    const map = { uri: 'init.mp4', range: { offset: 20, length: 100 }, key }
    expect(segments).toEqual([
      { uri: 'all.mp4', range: { offset: 10, length: 100 }, sequence: 7, seconds: 3.5, discontinuity: false, key, map },
      { uri: 'all.mp4', range: { offset: 110, length: 50 }, sequence: 8, seconds: 4, discontinuity: true, key: undefined, map },
      { uri: 'last.mp4', range: undefined, sequence: 10, seconds: 4, discontinuity: false, key: undefined, map },
    ])
    expect([targetSeconds, ended]).toEqual([4, true])
  })

  it('may name variants, of which the best that can be passed through is chosen', () => {
    const playlist = atOnce(
      parsePlaylist(
        [
          '\ufeff#EXTM3U',
          '#EXT-X-STREAM-INF:BANDWIDTH=900,CODECS="vp09.00,mp4a.40.2"',
          'vp9.m3u8',
          '#EXT-X-STREAM-INF:BANDWIDTH=100,CODECS="avc1.4d401f,mp4a.40.2",RESOLUTION=320x200',
          'low.m3u8',
          '#EXT-X-STREAM-INF:CODECS="hvc1.1",BANDWIDTH=500',
          'high.m3u8',
          '#EXT-X-STREAM-INF:BANDWIDTH=950,CODECS="mp4a.40.2"',
          'sound.m3u8',
          '#EXT-X-I-FRAME-STREAM-INF:BANDWIDTH=9999,URI="frames.m3u8"',
        ].join('\n'),
      ),
    )
    const variants = playlist?.kind === 'variants' ? playlist.variants : []
    expect([variants.length, chooseVariant(variants)?.uri]).toEqual([4, 'high.m3u8'])
    expect(chooseVariant(variants.filter(({ uri }) => uri === 'vp9.m3u8'))?.uri).toBe('vp9.m3u8')
  })

  it.each([['<html>'], [''], [`#EXTM3U\n${'a'.repeat(16_385)}`], [`#EXTM3U${'\n'.repeat(200_001)}`]])('is none: %.20s', (text) => {
    expect(atOnce(parsePlaylist(text))).toBeUndefined()
  })

  it('takes what is missing or wrong as usual', () => {
    const { segments, targetSeconds } = media(
      '#EXT-X-TARGETDURATION:x',
      '#EXTINF:-1,',
      'a.ts',
      'no-segment.ts',
      '#EXT-X-MEDIA-SEQUENCE',
      '#__proto__:1',
    )
    expect([segments.map(({ uri, seconds }) => [uri, seconds]), targetSeconds]).toEqual([[['a.ts', 0]], 6])
  })

  it('has attributes in linear time, whatever they look like', () => {
    expect([...parseAttributes('A=1, B="x,=y" ,C="open,D=2,=,E')]).toEqual([
      ['A', '1'],
      ['B', 'x,=y'],
      ['C', '"open'],
      ['D', '2'],
      ['', ''],
    ])
    const began = performance.now()
    for (const unit of ['a=,', '"', '="', ',', 'a="']) atOnce(parsePlaylist(`#EXTM3U\n${`#EXT-X-KEY:${unit.repeat(3000)}\n`.repeat(100)}`))
    expect(performance.now() - began).toBeLessThan(1000)
  })
})

const live = (first: number, count: number): Media =>
  media(`#EXT-X-MEDIA-SEQUENCE:${first}`, ...Array.from({ length: count }, (_, at) => `#EXTINF:2,\n${first + at}.ts`))

describe('the schedule of a stream', () => {
  it.each([
    ['joins three segments before the end', live(10, 6), undefined, [13, 14, 15], false],
    ['reads a recording from its start', { ...live(0, 5), ended: true }, undefined, [0, 1, 2, 3, 4], false],
    ['goes on after what was read', live(10, 6), 15, [15], false],
    ['waits while nothing is new', live(10, 6), 16, [], false],
    ['leaves out what is gone', live(10, 3), 5, [10, 11, 12], false],
    ['begins anew when the numbers do', live(0, 4), 50, [1, 2, 3], true],
  ] as const)('%s', (_, playlist, next, expected, restarted) => {
    const due = dueSegments(playlist, next)
    expect([due.segments.map(({ sequence }) => sequence), due.restarted]).toEqual([expected, restarted])
  })

  it('asks again after a segment, and sooner when nothing was new', () => {
    const playlist = { ...live(0, 1), targetSeconds: 4 }
    expect([reloadSeconds(playlist, true), reloadSeconds(playlist, false)]).toEqual([4, 2])
    expect([reloadSeconds({ ...playlist, targetSeconds: 3600 }, true), reloadSeconds({ ...playlist, targetSeconds: 0.001 }, true)]).toEqual(
      [30, 0.5],
    )
  })
})
