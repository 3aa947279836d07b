import { PassThrough } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { frameRateFraction, makeElement, property, toArguments } from '../../../../engine/gst/element.ts'
import { ENCODERS } from '../../../../engine/gst/encoder-table.ts'
import { showLaunch } from '../../../../engine/launch/launch.ts'
import { simpleLaunch } from '../../../../engine/launch/simple.ts'
import type { HttpFacts } from '../../../../engine/sources/http-probe.ts'
import { type SourceFacts, UNKNOWN } from '../../../../engine/sources/source-kind.ts'
import type { Encoding, SimpleConfig } from '../../../../lib/schema/pipeline.ts'
import { configure as makeConfig } from '../../../helpers/media/play-launch.ts'

/** What gst-launch makes of its arguments: `gst_parse_launchv` escapes each one, then joins them. */
const joinAsGstLaunch = (args: readonly string[]): string => args.map(escapeAsGstLaunch).join(' ')

const escapeAsGstLaunch = (argument: string): string => {
  let quoted = false
  return argument.replaceAll(/\\?["]| /g, (found) => {
    if (found === ' ') return quoted ? ' ' : '\\ '
    if (!quoted || found === '"') quoted = !quoted
    return found
  })
}

const configure = (uri: string, encoding: Encoding | null = null): SimpleConfig => ({
  ...makeConfig(uri, encoding),
  source: { uri, latency_ms: 200 },
})

const body = { stream: new PassThrough() }

type AnyFacts = SourceFacts & Partial<HttpFacts>
const facts = (known: Partial<AnyFacts>): AnyFacts => ({ ...UNKNOWN, ...known })

const rtsp = facts({ video: 'H264', klv: false, frameRate: 30 })
const H264: Encoding = { codec: 'h264', bitrate: 1500, width: 1280, height: 720, fps: 25, quality: 7 }
const x264 = ENCODERS.find(({ name }) => name === 'x264enc') ?? null
const line = (config: SimpleConfig, source: SourceFacts) =>
  simpleLaunch(config, source, config.encoding || config.source.uri.startsWith('test:') ? x264 : null).args.join(' ')

/** `contains` and `lacks`: parts of the line, between them " … ". */
type Row = readonly [name: string, uri: string, facts: AnyFacts, contains: string, lacks?: string, encoding?: Encoding]

const ROWS: readonly Row[] = [
  [
    'RTSP is piped to the child, which has no address',
    'rtsp://ad%40min:p%3Aw@h/s',
    { ...rtsp, klv: true },
    'fdsrc fd=0 blocksize=65536 ! gdpdepay ! identity sync=true ts-offset=-3600000000000 ! rtph264depay ! h264parse ! decodebin … rtph264pay name=pay0 pt=96 mtu=65000 … config-interval=0 … fd=3 sync=false async=false',
    'rtsp: … ad@min … p:w … pay1',
    H264,
  ],
  [
    'MPEG-TS inside RTSP passes through, and the engine has its KLV',
    'rtsp://h/s',
    { ...rtsp, video: 'MP2T', klv: null },
    'gdpdepay … tsdemux name=tracks … tracks. ! capsfilter caps=video/x-h264;video/x-h265 ! switchbin num-paths=2',
    'rtpmp2tdepay … tee … pay1 … fd=4',
  ],
  [
    'MPEG-TS over SRT, with its KLV to the engine',
    'srt://h:1',
    UNKNOWN,
    'tee name=transport ! tsdemux name=tracks … transport. ! queue … rtpmp2tpay pt=33',
    'meta/x-klv … rtpfunnel',
  ],
  ['MPEG-TS over UDP, which the engine reads', 'udp://h:1', UNKNOWN, 'fdsrc fd=0 … gdpdepay … tsdemux name=tracks', 'udpsrc … tee … pay1'],
  [
    'SRT with the latency of its address',
    'srt://h:9000?mode=caller&latency=50&streamid=a%2Fb',
    UNKNOWN,
    'srtsrc uri=srt://h:9000?mode=caller&latency=50&streamid=a%2Fb auto-reconnect=false',
    'latency=200',
  ],
  ['SRT with the latency of the configuration', 'srt://h:9000', UNKNOWN, 'srtsrc uri=srt://h:9000 latency=200'],
  ['RTMP', 'rtmp://h/app/key', facts({ klv: false }), 'rtmp2src location=rtmp://h/app/key … flvdemux name=tracks', 'meta/x-klv'],
  [
    'HLS is fetched by the engine, and paced: MPEG-TS',
    'https://u:p@h/a.m3u8',
    facts({ content: 'hls', segments: 'mpegts', paced: true, body }),
    'fdsrc fd=0 blocksize=65536 ! tsdemux name=tracks … clocksync ! gdppay ! fdsink fd=3 … meta/x-klv ! queue … video/x-h265 ! queue … clocksync ! gdppay ! capssetter … video. ! valve drop=true drop-mode=forward-sticky-events ! queue … rtpfunnel name=klv ! fdsink fd=4',
    'soup … http … user-id',
  ],
  [
    'HLS is fetched by the engine, and paced: fragmented MP4',
    'https://h/a.m3u8',
    facts({ content: 'hls', segments: 'other', paced: true, body }),
    'fdsrc fd=0 blocksize=65536 ! parsebin name=tracks … clocksync ! gdppay ! fdsink fd=3',
    'soup … http',
  ],
  [
    'live MPEG-TS over HTTP is piped, and not paced',
    'http://u:p@h/a.ts',
    facts({ content: 'mpegts', body }),
    'fdsrc fd=0 blocksize=65536 ! identity sync=true … ! tee name=transport ! tsdemux name=tracks … gdppay ! fdsink fd=3',
    'soup … http: … user-id',
  ],
  [
    'FLV over HTTP has no KLV',
    'http://h/a.flv',
    facts({ content: 'flv', klv: false, body }),
    'fdsrc name=flv fd=0 … flvdemux name=tracks … gdppay ! fdsink fd=3',
    'pay1 … parsebin',
  ],
  [
    'another file over HTTP is piped where it needs credentials',
    'https://u:p@h/a',
    facts({ content: 'other', body }),
    'fdsrc fd=0 blocksize=65536 ! … parsebin name=tracks',
    'soup … http … user-id',
  ],
  [
    'MJPEG over HTTP is re-encoded',
    'http://h/m',
    facts({ content: 'mjpeg', video: 'JPEG', klv: false, body: { ...body, caps: 'multipart/x-mixed-replace' } }),
    'gdpdepay … multipartdemux single-stream=true ! image/jpeg ! decodebin',
    '',
    H264,
  ],
  ['a file is paced', 'file:///srv/a%20b.mp4', facts({ paced: true }), 'filesrc location=/srv/a\\ b.mp4 ! parsebin … clocksync ! gdppay'],
  [
    'the test source is encoded without an encoding in the configuration',
    'test://ball?width=320&height=240&fps=10',
    facts({ klv: false, frameRate: 10 }),
    'pattern=ball … width=320,height=240,framerate=10/1 … x264enc … key-int-max=20',
  ],
  [
    'an H.264 camera passes through',
    'v4l2:///dev/video0?encoding=h264&width=1280&height=720&fps=30',
    facts({ video: 'H264', klv: false }),
    'v4l2src device=/dev/video0 ! video/x-h264,width=1280,height=720,framerate=30/1 ! h264parse config-interval=-1 ! rtph264pay name=pay0',
  ],
  [
    'an MJPEG camera is re-encoded',
    'v4l2:///dev/video0?encoding=mjpeg',
    facts({ video: 'JPEG', klv: false }),
    'image/jpeg ! decodebin ! queue',
    '',
    H264,
  ],
  ['a raw camera is re-encoded', 'v4l2:///dev/video0', facts({ klv: false }), 'video/x-raw ! queue', '', H264],
  [
    'every field of encoding',
    'rtsp://h/s',
    rtsp,
    'decodebin … leaky=downstream … videorate ! video/x-raw,framerate=25/1 … format=I420,width=1280,height=720 … bitrate=1500 … key-int-max=50 … bframes=0 … tune=zerolatency',
    '',
    H264,
  ],
  ['a recording is encoded without dropping frames', 'file:///a.mp4', facts({ paced: true }), 'queue', 'leaky', H264],
  [
    'the size and frame rate stay when the encoding does not set them',
    'rtsp://h/s',
    rtsp,
    'video/x-raw,format=I420 ! … key-int-max=60',
    'videorate … width=',
    { codec: 'h264', bitrate: 500, quality: 1 },
  ],
  ['an unknown frame rate counts as the lowest', 'udp://h:1', UNKNOWN, 'key-int-max=20', '', { codec: 'h264', bitrate: 500, quality: 1 }],
]

const partsOf = (text: string): readonly string[] => text.split(' … ').filter((part) => part !== '')

describe('simpleLaunch', () => {
  it.each(ROWS.map((row) => [row[0], row] as const))('%s', (_name, [, uri, known, contains, lacks = '', encoding]) => {
    const text = line(configure(uri, encoding), known)
    for (const part of partsOf(contains)) expect(text).toContain(part)
    for (const part of partsOf(lacks)) expect(text).not.toContain(part)
    expect(text).not.toMatch(/undefined|null|NaN/)
  })

  it.each([
    ['http://h/m', facts({ content: 'mjpeg', video: 'JPEG', klv: false })],
    ['v4l2:///dev/video0?encoding=mjpeg', facts({ video: 'JPEG', klv: false })],
    ['v4l2:///dev/video0', facts({ klv: false })],
  ])('asks for encoding when %s cannot be passed through', (uri, source) => {
    expect(() => simpleLaunch(configure(uri), source, null)).toThrow(/Set encoding/)
  })

  it('knows the caps of the KLV track before its first packet', () => {
    const { streams } = simpleLaunch(configure('srt://h:1'), UNKNOWN, null)
    expect(streams.map(({ payloader, fd, caps }) => [payloader, fd, caps !== null])).toEqual([
      ['pay0', 3, false],
      ['pay1', 4, true],
    ])
  })

  it('puts every argument after --, and gives gst-launch no blank to escape', () => {
    const { args } = simpleLaunch(configure('http://a%20b:c%20%22%27%5C%20d@h/s'), facts({ content: 'mpegts' }), null)
    expect(args[0]).toBe('--')
    expect(joinAsGstLaunch(args)).toBe(args.join(' '))
  })

  it('refuses credentials that hold a line break', () => {
    expect(() => simpleLaunch(configure('rtsp://a%0d%0ab@h/s'), rtsp, null)).toThrow(/control character/)
  })
})

describe('showLaunch', () => {
  it('shows a line to paste without a credential', () => {
    const shown = showLaunch(simpleLaunch(configure('rtsp://admin:hun%20ter2@h/s'), rtsp, null))
    expect(shown).toMatch(/^gst-launch-1\.0 -v rtspsrc location=rtsp:\/\/h\/s 'user-id=/)
    expect(shown).not.toMatch(/admin|hun|ter2/)
    expect(shown).toMatch(/ 3>\/dev\/null$/)
    expect(shown).toContain(" '!' ")
  })

  it('masks the passphrase of SRT', () => {
    expect(showLaunch(simpleLaunch(configure('srt://h:1?passphrase=topsecret99'), UNKNOWN, null))).not.toContain('topsecret99')
  })
})

describe('property', () => {
  it.each([
    ['plain', 'a=plain'],
    ['', 'a=""'],
    ['a b', 'a=a\\ b'],
    ["it's", "a=it\\'s"],
    ['NULL', 'a=\\"NULL\\"'],
  ])('writes %j as %s', (value, text) => {
    expect(property('a', value)).toBe(text)
  })

  it('refuses a line break and a NUL', () => {
    expect(() => property('a', 'b\nc')).toThrow()
    expect(() => property('a', 'b\0c')).toThrow()
  })

  it('gives the same text when its arguments are joined again', () => {
    const tokens = makeElement('filesrc', { location: 'a "b c" \\ d' })
    expect(toArguments(tokens).join(' ')).toBe(tokens.join(' '))
  })
})

describe('frameRateFraction', () => {
  it.each([
    [25, '25/1'],
    [29.97, '30000/1001'],
    [12.5, '12500/1000'],
    [1, '1/1'],
  ])('%d is %s', (fps, fraction) => {
    expect(frameRateFraction(fps)).toBe(fraction)
  })
})
