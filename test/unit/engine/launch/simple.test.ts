import { describe, expect, it } from 'vitest'
import { parseAddress } from '../../../../engine/faults/address.ts'
import { frameRateFraction, makeElement, property, toArguments } from '../../../../engine/gst/element.ts'
import { ENCODERS } from '../../../../engine/gst/encoder-table.ts'
import { showLaunch } from '../../../../engine/launch/launch.ts'
import { simpleLaunch } from '../../../../engine/launch/simple.ts'
import type { HttpFacts } from '../../../../engine/sources/http-probe.ts'
import type { RtspFacts } from '../../../../engine/sources/sdp-facts.ts'
import { type SourceFacts, UNKNOWN } from '../../../../engine/sources/source-kind.ts'
import type { Encoding, SimpleConfig } from '../../../../lib/schema/pipeline.ts'

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

const configure = (uri: string, encoding: Encoding | null = null, latency_ms = 200): SimpleConfig => ({
  id: 'cam-1',
  mode: 'simple',
  on_demand: false,
  output: null,
  klv_config: { pass_klv: false, auto_extract_geolocation: false },
  push: [],
  ephemeral: false,
  source: { uri, latency_ms },
  encoding,
})

type AnyFacts = SourceFacts & Partial<HttpFacts & RtspFacts>
const facts = (known: Partial<AnyFacts>): AnyFacts => ({ ...UNKNOWN, ...known })

const rtsp = facts({ video: 'H264', klv: false, frameRate: 30, transport: 'tcp' })
const H264: Encoding = { codec: 'h264', bitrate: 1500, width: 1280, height: 720, fps: 25, quality: 7 }
const x264 = ENCODERS.find(({ name }) => name === 'x264enc') ?? null
const line = (config: SimpleConfig, source: SourceFacts) =>
  simpleLaunch(config, source, config.encoding || config.source.uri.startsWith('test:') ? x264 : null).args.join(' ')

interface Row {
  readonly name: string
  readonly uri: string
  readonly facts: AnyFacts
  readonly encoding?: Encoding
  readonly contains: readonly string[]
  readonly lacks?: readonly string[]
}

const ROWS: readonly Row[] = [
  {
    name: 'H.264 over RTSP is payloaded again, parameter sets before every key frame',
    uri: 'rtsp://10.0.0.5/stream',
    facts: rtsp,
    contains: [
      'location=rtsp://10.0.0.5/stream',
      'latency=200',
      'protocols=tcp',
      'rtph264depay ! h264parse config-interval=-1 ! rtph264pay name=pay0 pt=96 mtu=65000',
      'config-interval=0',
      'fd=3 sync=false async=false',
    ],
    lacks: ['pay1', 'enc ', 'user-id', 'udp-reconnect'],
  },
  {
    name: 'H.265 over RTSP',
    uri: 'rtsp://h/s',
    facts: { ...rtsp, video: 'H265' },
    contains: ['rtph265depay ! h265parse config-interval=-1 ! rtph265pay name=pay0'],
  },
  {
    name: 'UDP when the source sends over UDP only',
    uri: 'rtsp://h/s',
    facts: { ...rtsp, transport: 'udp' },
    contains: ['protocols=udp', 'udp-reconnect=false'],
  },
  { name: 'rtspt is RTSP', uri: 'rtspt://h/s', facts: rtsp, contains: ['location=rtsp://h/s', 'protocols=tcp'] },
  {
    name: 'rtsps accepts self-signed certificates',
    uri: 'rtsps://h/s',
    facts: rtsp,
    contains: ['location=rtsps://h:322/s', 'tls-validation-flags=no-flags'],
  },
  {
    name: 'another codec passes through packet by packet',
    uri: 'rtsp://h/s',
    facts: { ...rtsp, video: 'VP8' },
    contains: ['tracks. ! capsfilter name=pay0 caps=application/x-rtp,media=video ! rtpstreampay'],
    lacks: ['depay'],
  },
  {
    name: 'a KLV track',
    uri: 'rtsp://h/s',
    facts: { ...rtsp, klv: true },
    contains: [
      'tracks. ! rtpklvdepay ! rtpklvpay name=pay1 pt=97 mtu=1400 timestamp-offset=0 seqnum-offset=0',
      'fd=4 sync=false async=false',
    ],
  },
  {
    name: 'MPEG-TS inside RTSP',
    uri: 'rtsp://h/s',
    facts: { ...rtsp, video: 'MP2T', klv: null },
    contains: [
      'rtpmp2tdepay ! tee name=transport ! tsdemux name=tracks',
      'tracks. ! capsfilter caps=video/x-h264;video/x-h265 ! switchbin num-paths=2',
      'capsfilter name=pay0',
      'transport. ! queue',
      'rtpmp2tpay pt=33',
    ],
    lacks: ['meta/x-klv', 'rtpfunnel'],
  },
  {
    name: 'credentials are decoded and kept out of the location',
    uri: 'rtsp://ad%40min:p%3Aw@h/s',
    facts: rtsp,
    contains: ['location=rtsp://h/s', 'user-id=ad@min', 'user-pw=p:w'],
  },
  {
    name: 'unicast UDP',
    uri: 'udp://0.0.0.0:5000',
    facts: UNKNOWN,
    contains: ['udpsrc address=0.0.0.0 port=5000 reuse=false', 'tsdemux'],
  },
  {
    name: 'multicast UDP',
    uri: 'udp://@239.1.1.1:5000?iface=eth1',
    facts: UNKNOWN,
    contains: ['address=239.1.1.1 port=5000 multicast-iface=eth1'],
  },
  { name: 'IPv6 UDP', uri: 'udp://[::1]:5000', facts: UNKNOWN, contains: ['address=::1 port=5000'] },
  {
    name: 'SRT with the latency of its address',
    uri: 'srt://h:9000?mode=caller&latency=50&streamid=a%2Fb',
    facts: UNKNOWN,
    contains: ['srtsrc uri=srt://h:9000?mode=caller&latency=50&streamid=a%2Fb auto-reconnect=false'],
    lacks: ['latency=200'],
  },
  {
    name: 'SRT with the latency of the configuration',
    uri: 'srt://h:9000',
    facts: UNKNOWN,
    contains: ['srtsrc uri=srt://h:9000 latency=200'],
  },
  {
    name: 'RTMP',
    uri: 'rtmp://h/app/key',
    facts: facts({ klv: false }),
    contains: ['rtmp2src location=rtmp://h/app/key', 'flvdemux name=tracks'],
    lacks: ['meta/x-klv'],
  },
  {
    name: 'HLS is paced, and live to gst-launch',
    uri: 'https://h/a.m3u8',
    facts: facts({ content: 'hls', paced: true }),
    contains: [
      'souphttpsrc location=https://h/a.m3u8 is-live=true',
      'parsebin name=tracks',
      'fd=3 sync=true async=true',
      'fd=4 sync=true async=false',
      'meta/x-klv ! queue',
      'video/x-h265 ! queue',
      'video. ! valve drop=true drop-mode=forward-sticky-events ! queue',
      'rtpfunnel name=klv ! rtpstreampay ! fdsink fd=4',
    ],
  },
  {
    name: 'live MPEG-TS over HTTP is not paced',
    uri: 'http://h/a.ts',
    facts: facts({ content: 'mpegts' }),
    contains: ['tsdemux name=tracks', 'fd=3 sync=false'],
  },
  {
    name: 'FLV over HTTP has no KLV',
    uri: 'http://h/a.flv',
    facts: facts({ content: 'flv', klv: false }),
    contains: ['souphttpsrc name=flv', 'flvdemux name=tracks', 'fd=3 sync=false'],
    lacks: ['pay1', 'parsebin'],
  },
  {
    name: 'credentials are not sent to where a redirect leads',
    uri: 'https://u:p@h/a',
    facts: facts({ content: 'mpegts', redirectedTo: parseAddress('http://other/b') }),
    contains: ['souphttpsrc location=http://other/b is-live'],
    lacks: ['user-id', 'user-pw'],
  },
  {
    name: 'a redirect that comes after the probe is not followed with credentials',
    uri: 'http://u:p@h/a',
    facts: facts({ content: 'mpegts' }),
    contains: ['location=http://h/a user-id=u user-pw=p', 'automatic-redirect=false'],
  },
  {
    name: 'MJPEG over HTTP is re-encoded',
    uri: 'http://h/m',
    facts: facts({ content: 'mjpeg', video: 'JPEG', klv: false }),
    encoding: H264,
    contains: ['multipartdemux single-stream=true ! image/jpeg ! decodebin'],
  },
  {
    name: 'a file is paced',
    uri: 'file:///srv/a%20b.mp4',
    facts: facts({ paced: true }),
    contains: ['filesrc location=/srv/a\\ b.mp4 ! parsebin', 'sync=true'],
  },
  {
    name: 'the test source is encoded without an encoding in the configuration',
    uri: 'test://ball?width=320&height=240&fps=10',
    facts: facts({ klv: false, frameRate: 10 }),
    contains: ['pattern=ball', 'width=320,height=240,framerate=10/1', 'x264enc', 'key-int-max=20'],
  },
  {
    name: 'an H.264 camera passes through',
    uri: 'v4l2:///dev/video0?encoding=h264&width=1280&height=720&fps=30',
    facts: facts({ video: 'H264', klv: false }),
    contains: [
      'v4l2src device=/dev/video0 ! video/x-h264,width=1280,height=720,framerate=30/1 ! h264parse config-interval=-1 ! rtph264pay name=pay0',
    ],
  },
  {
    name: 'an MJPEG camera is re-encoded',
    uri: 'v4l2:///dev/video0?encoding=mjpeg',
    facts: facts({ video: 'JPEG', klv: false }),
    encoding: H264,
    contains: ['image/jpeg ! decodebin ! queue'],
  },
  {
    name: 'a raw camera is re-encoded',
    uri: 'v4l2:///dev/video0',
    facts: facts({ klv: false }),
    encoding: H264,
    contains: ['video/x-raw ! queue'],
  },
  {
    name: 'every field of encoding',
    uri: 'rtsp://h/s',
    facts: rtsp,
    encoding: H264,
    contains: [
      'decodebin',
      'leaky=downstream',
      'videorate ! video/x-raw,framerate=25/1',
      'format=I420,width=1280,height=720',
      'bitrate=1500',
      'key-int-max=50',
      'bframes=0',
      'tune=zerolatency',
    ],
  },
  {
    name: 'a recording is encoded without dropping frames',
    uri: 'file:///a.mp4',
    facts: facts({ paced: true }),
    encoding: H264,
    contains: ['queue'],
    lacks: ['leaky'],
  },
  {
    name: 'the size and frame rate stay when the encoding does not set them',
    uri: 'rtsp://h/s',
    facts: rtsp,
    encoding: { codec: 'h264', bitrate: 500, quality: 1 },
    contains: ['video/x-raw,format=I420 !', 'key-int-max=60'],
    lacks: ['videorate', 'width='],
  },
  {
    name: 'an unknown frame rate counts as the lowest',
    uri: 'udp://h:1',
    facts: UNKNOWN,
    encoding: { codec: 'h264', bitrate: 500, quality: 1 },
    contains: ['key-int-max=20'],
  },
]

describe('simpleLaunch', () => {
  it.each(ROWS.map((row) => [row.name, row] as const))('%s', (_name, row) => {
    const text = line(configure(row.uri, row.encoding), row.facts)
    for (const part of row.contains) expect(text).toContain(part)
    for (const part of row.lacks ?? []) expect(text).not.toContain(part)
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
    const { streams } = simpleLaunch(configure('rtsp://h/s'), { ...rtsp, klv: true }, null)
    expect(streams.map(({ payloader, fd, caps }) => [payloader, fd, caps !== null])).toEqual([
      ['pay0', 3, false],
      ['pay1', 4, true],
    ])
  })

  it('puts every argument after --, and gives gst-launch no blank to escape', () => {
    const { args } = simpleLaunch(configure('rtsp://a%20b:c%20%22%27%5C%20d@h/s'), rtsp, null)
    expect(args[0]).toBe('--')
    expect(joinAsGstLaunch(args)).toBe(args.join(' '))
  })

  it('refuses credentials that hold a line break', () => {
    expect(() => simpleLaunch(configure('rtsp://a%0d%0ab@h/s'), rtsp, null)).toThrow(/control character/)
  })
})

describe('showLaunch', () => {
  it('shows a line to paste without a credential', () => {
    const shown = showLaunch(simpleLaunch(configure('rtsp://admin:hun%20ter2@h/s'), { ...rtsp, klv: true }, null))
    expect(shown).toMatch(/^gst-launch-1\.0 -v rtspsrc /)
    expect(shown).not.toMatch(/admin|hun|ter2/)
    expect(shown).toMatch(/ 3>\/dev\/null 4>\/dev\/null$/)
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
