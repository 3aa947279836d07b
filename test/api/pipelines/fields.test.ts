import { describe, expect, it } from 'vitest'
import { advanced, simple, useTestApi } from '../../helpers/api/api.ts'
import { row, testRowsOnAllHosts } from '../../helpers/api/rows.ts'

type Field = readonly [name: string, body: Record<string, unknown>, path: string]

const source = (more: Record<string, unknown>) => simple('cam-1', { source: { uri: 'rtsp://10.0.0.5/stream', ...more } })
const encoding = (more: Record<string, unknown>) => simple('cam-1', { encoding: { codec: 'h264', ...more } })
const output = (uri: unknown) => simple('cam-1', { output: { uri } })
const place = (more: Record<string, unknown>) => simple('cam-1', { geolocation: { latitude: 0, longitude: 0, ...more } })
const push = (...uris: readonly unknown[]) => simple('cam-1', { push: uris.map((uri) => ({ uri })) })
const without = (name: string) => Object.fromEntries(Object.entries(simple('cam-1')).filter(([key]) => key !== name))
const uriOfLength = (length: number) => 'rtsp://10.0.0.5/'.padEnd(length, 'a')

const refused: readonly Field[] = [
  ['no id', without('id'), 'id'],
  ['an empty id', simple(''), 'id'],
  ['an id with a dot', simple('a.b'), 'id'],
  ['an id with a slash', simple('a/b'), 'id'],
  ['an id with an umlaut', simple('kamera-ü'), 'id'],
  ['an id with a line break at its end', simple('cam-1\n'), 'id'],
  ['an id of 65 characters', simple('a'.repeat(65)), 'id'],
  ['an id that is a number', { ...simple('x'), id: 7 }, 'id'],
  ['no mode', without('mode'), 'mode'],
  ['an unknown mode', { ...simple('cam-1'), mode: 'easy' }, 'mode'],
  ['on_demand as text', simple('cam-1', { on_demand: 'true' }), 'on_demand'],
  ['on_demand null', simple('cam-1', { on_demand: null }), 'on_demand'],
  ['an unknown field', simple('cam-1', { colour: 'red' }), 'colour'],
  ['an unknown field of the source', source({ user: 'bob' }), 'source.user'],
  ['an unknown field of the encoding', encoding({ gop: 30 }), 'encoding.gop'],
  ['an unknown field of the output', simple('cam-1', { output: { uri: 'rtsp://0.0.0.0:8600/cam-1', port: 1 } }), 'output.port'],
  ['a simple pipeline without source', without('source'), 'source'],
  ['a simple pipeline with raw_pipeline', simple('cam-1', { raw_pipeline: 'videotestsrc ! fakesink' }), 'raw_pipeline'],
  ['an advanced pipeline with source', advanced('adv', { source: { uri: 'rtsp://10.0.0.5/' } }), 'source'],
  ['an advanced pipeline with encoding', advanced('adv', { encoding: { codec: 'h264' } }), 'encoding'],
  ['an advanced pipeline without description', { id: 'adv', mode: 'advanced' }, 'raw_pipeline'],
  ['an empty description', advanced('adv', { raw_pipeline: '' }), 'raw_pipeline'],
  ['a description of 16385 characters', advanced('adv', { raw_pipeline: 'x'.repeat(16385) }), 'raw_pipeline'],
  ['a description with NUL', advanced('adv', { raw_pipeline: 'a\u0000b' }), 'raw_pipeline'],
  ['an empty source', source({ uri: '' }), 'source.uri'],
  ['a source without scheme', source({ uri: '10.0.0.5/stream' }), 'source.uri'],
  ['a source with another scheme', source({ uri: 'ftp://10.0.0.5/stream' }), 'source.uri'],
  ['a source of 2049 characters', source({ uri: uriOfLength(2049) }), 'source.uri'],
  ['a source with a blank', source({ uri: 'rtsp://10.0.0.5/a b' }), 'source.uri'],
  ['a source with a line break', source({ uri: 'rtsp://10.0.0.5/a\nb' }), 'source.uri'],
  ['a source with a fragment', source({ uri: 'rtsp://10.0.0.5/stream#1' }), 'source.uri'],
  ['a source whose password has a slash', source({ uri: 'rtsp://user:s/cret@10.0.0.5/stream' }), 'source.uri'],
  ['a push whose password has a number sign', push('rtsp://user:1#2@10.0.0.5/stream'), 'push.0.uri'],
  ['a source without host', source({ uri: 'http://' }), 'source.uri'],
  ['an RTSP source without host', source({ uri: 'rtsp:///stream' }), 'source.uri'],
  ['a source over UDP without port', source({ uri: 'udp://239.1.1.1' }), 'source.uri'],
  ['a source over SRT without port', source({ uri: 'srt://10.0.0.5' }), 'source.uri'],
  ['a source over SRT without host that does not listen', source({ uri: 'srt://:9000' }), 'source.uri'],
  ['a source over SRT that listens without port', source({ uri: 'srt://?mode=listener' }), 'source.uri'],
  ['a source with port 0', source({ uri: 'rtsp://10.0.0.5:0/stream' }), 'source.uri'],
  ['a source over SRT in an unknown mode', source({ uri: 'srt://10.0.0.5:9000?mode=server' }), 'source.uri'],
  ['a source over SRT with a passphrase of 9 characters', source({ uri: 'srt://10.0.0.5:9000?passphrase=123456789' }), 'source.uri'],
  [
    'a source over SRT with a passphrase of 80 bytes',
    source({ uri: `srt://10.0.0.5:9000?passphrase=${'%C3%A4'.repeat(40)}` }),
    'source.uri',
  ],
  ['a source over SRT with a latency that is no number', source({ uri: 'srt://10.0.0.5:9000?latency=low' }), 'source.uri'],
  ['a latency below 0', source({ latency_ms: -1 }), 'source.latency_ms'],
  ['a latency over 60000', source({ latency_ms: 60001 }), 'source.latency_ms'],
  ['a latency as text', source({ latency_ms: '200' }), 'source.latency_ms'],
  ['an encoding without codec', simple('cam-1', { encoding: { bitrate: 2000 } }), 'encoding.codec'],
  ['an unknown codec', encoding({ codec: 'av1' }), 'encoding.codec'],
  ['a bitrate below 50', encoding({ bitrate: 49 }), 'encoding.bitrate'],
  ['a bitrate over 200000', encoding({ bitrate: 200001 }), 'encoding.bitrate'],
  ['a width alone', encoding({ width: 640 }), 'encoding.height'],
  ['a height alone', encoding({ height: 480 }), 'encoding.width'],
  ['an odd width', encoding({ width: 641, height: 480 }), 'encoding.width'],
  ['a width below 16', encoding({ width: 14, height: 480 }), 'encoding.width'],
  ['a height over 8192', encoding({ width: 640, height: 8194 }), 'encoding.height'],
  ['a frame rate below 1', encoding({ fps: 0.5 }), 'encoding.fps'],
  ['a frame rate over 240', encoding({ fps: 241 }), 'encoding.fps'],
  ['a quality of 0', encoding({ quality: 0 }), 'encoding.quality'],
  ['a quality of 11', encoding({ quality: 11 }), 'encoding.quality'],
  ['a quality between whole numbers', encoding({ quality: 7.5 }), 'encoding.quality'],
  ['an output that is no address', output('cam-1'), 'output.uri'],
  ['an output without port', output('rtsp://0.0.0.0/cam-1'), 'output.uri'],
  ['an output with the path of another pipeline', output('rtsp://0.0.0.0:8600/cam-2'), 'output.uri'],
  ['an output with a query', output('rtsp://0.0.0.0:8600/cam-1?a=b'), 'output.uri'],
  ['a klv flag that is a number', simple('cam-1', { klv_config: { pass_klv: 1 } }), 'klv_config.pass_klv'],
  ['an unknown klv flag', simple('cam-1', { klv_config: { decode: true } }), 'klv_config.decode'],
  ['a push that is no list', simple('cam-1', { push: { uri: 'srt://10.0.0.9:9000' } }), 'push'],
  ['an unknown field of a push', simple('cam-1', { push: [{ uri: 'srt://10.0.0.9:9000', key: 'x' }] }), 'push.0.key'],
  ['nine pushes', push(...Array.from({ length: 9 }, (_, at) => `udp://10.0.0.9:${5000 + at}`)), 'push'],
  ['a push twice', push('srt://10.0.0.9:9000', 'srt://10.0.0.9:9000'), 'push'],
  ['a push with another scheme', push('http://10.0.0.9/live'), 'push.0.uri'],
  ['a push without scheme', push('10.0.0.9:9000'), 'push.0.uri'],
  ['a push of 2049 characters', push(`rtsp://10.0.0.9/${'a'.repeat(2049)}`), 'push.0.uri'],
  ['a push with a blank', push('srt://10.0.0.9:9000', 'srt://10.0.0.9:9001?streamid=a b'), 'push.1.uri'],
  ['a push without host', push('rtsp:///live'), 'push.0.uri'],
  ['a push over SRT without port', push('srt://10.0.0.9'), 'push.0.uri'],
  ['a push over SRT without host that does not listen', push('srt://:9000'), 'push.0.uri'],
  ['a push over SRT in another mode', push('srt://10.0.0.9:9000?mode=rendezvous'), 'push.0.uri'],
  ['a push over UDP without port', push('udp://239.1.1.1'), 'push.0.uri'],
  ['a push over UDP with a ttl of 0', push('udp://239.1.1.1:5000?ttl=0'), 'push.0.uri'],
  ['a push over SRT with a passphrase of 9 characters', push('srt://10.0.0.9:9000?passphrase=123456789'), 'push.0.uri'],
  ['a push over SRT with a negative latency', push('srt://10.0.0.9:9000?latency=-1'), 'push.0.uri'],
  ['a push with a port over 65535', push('udp://10.0.0.9:65536'), 'push.0.uri'],
  ['a push over RTMP without stream', push('rtmp://10.0.0.9/live'), 'push.0.uri'],
  ['a push of H.265 over RTMP', { ...encoding({ codec: 'h265' }), push: [{ uri: 'rtmp://10.0.0.9/live/key' }] }, 'push'],
  ['a latitude below -90', place({ latitude: -90.1 }), 'geolocation.latitude'],
  ['a latitude over 90', place({ latitude: 90.1 }), 'geolocation.latitude'],
  ['a longitude over 180', place({ longitude: 180.1 }), 'geolocation.longitude'],
  ['a geolocation without longitude', simple('cam-1', { geolocation: { latitude: 1 } }), 'geolocation.longitude'],
  ['an altitude below -1000', place({ altitude: -1001 }), 'geolocation.altitude'],
  ['an altitude over 100000', place({ altitude: 100001 }), 'geolocation.altitude'],
  ['a heading below 0', place({ heading: -1 }), 'geolocation.heading'],
  ['a heading over 360', place({ heading: 361 }), 'geolocation.heading'],
]

const accepted: readonly (readonly [name: string, body: Record<string, unknown>])[] = [
  ['an id of 64 characters', simple('a'.repeat(64))],
  ['an id of dashes and underscores', simple('-_-')],
  ['a source of 2048 characters', source({ uri: uriOfLength(2048) })],
  ...['rtsp', 'rtsps', 'rtspt', 'udp', 'srt', 'rtmp', 'rtmps', 'http', 'https'].map(
    (scheme) => [`a source by ${scheme}`, source({ uri: `${scheme}://10.0.0.5:9000/x` })] as const,
  ),
  ['a passphrase of 79 bytes', source({ uri: `srt://10.0.0.5:9000?passphrase=${'a'.repeat(79)}&mode=rendezvous&latency=60` })],
  ['a source over SRT without host that listens', source({ uri: 'srt://:9000?mode=listener' })],
  ['a camera', source({ uri: 'v4l2:///dev/video0' })],
  ['the built-in source', source({ uri: 'test://smpte?width=640&height=480' })],
  ['a scheme in capitals', source({ uri: 'RTSP://10.0.0.5/stream' })],
  ['a latency of 0', source({ latency_ms: 0 })],
  ['a latency of 60000', source({ latency_ms: 60000 })],
  ['no encoding', simple('cam-1', { encoding: null })],
  ['the least encoding', encoding({ bitrate: 50, width: 16, height: 16, fps: 1, quality: 1 })],
  ['the largest encoding', encoding({ bitrate: 200000, width: 8192, height: 8192, fps: 240, quality: 10 })],
  ['an output without a uri', simple('cam-1', { output: {} })],
  ['an output without a uri of a description without pay0', advanced('adv', { raw_pipeline: 'videotestsrc ! fakesink', output: {} })],
  ['an output on IPv6', output('rtsp://[::]:8600/cam-1')],
  ['a description of 16384 characters', advanced('adv', { raw_pipeline: 'videotestsrc ! fakesink'.padEnd(16384, ' ') })],
  [
    'eight pushes',
    push(
      'srt://10.0.0.9:9000?passphrase=correct-horse&latency=200',
      'srt://:9001?mode=listener',
      'udp://10.0.0.9:5000',
      'udp://239.1.1.1:5000?ttl=8&iface=eth0',
      'rtmp://10.0.0.9/live/key',
      'rtmps://user:s3cret@live.example:443/app/key?token=abc',
      'rtsp://10.0.0.9/in/cam-1',
      'RTSPS://[2001:db8::1]:8322/in/cam-1',
    ),
  ],
  ['no geolocation', simple('cam-1', { geolocation: null })],
  ['a geolocation at the bounds', place({ latitude: -90, longitude: 180, altitude: -1000, heading: 360 })],
]

describe('the fields of a pipeline', () => {
  const api = useTestApi()

  it.each(refused)('refuse %s', async (_, body, path) => {
    const { engine, send } = api()
    engine.calls.length = 0
    const response = await send('POST', '/svc/pipeline', body)
    const { code, details } = (await response.json()) as { code: string; details: { issues: { path: string }[] } }
    expect([response.status, code, details.issues.map((issue) => issue.path)]).toEqual([
      400,
      'VALIDATION_ERROR',
      expect.arrayContaining([path]),
    ])
    expect(engine.calls).toEqual([])
  })

  it.each(accepted)('accept %s', async (_, body) => {
    expect((await api().send('POST', '/svc/pipeline/validate', body)).status).toBe(200)
  })

  const MISTAKES = { id: 'a b', mode: 'simple', source: { uri: 'nope://root:hunter2@h/', latency_ms: 'secret-value' } }
  testRowsOnAllHosts([
    row(
      'list every mistake in one answer and echo no value',
      ['POST /svc/pipeline', MISTAKES],
      400,
      ['"id"', '"source.uri"', '"source.latency_ms"'],
      {
        lacks: ['hunter2', 'root', 'secret-value'],
      },
    ),
  ])
})

describe('an array in place of an object', () => {
  const api = useTestApi()
  const refused = (where: string, line: string, body: unknown) => [where, line, body] as const
  it.each([
    ...['source', 'encoding', 'klv_config', 'output', 'geolocation'].map((field) =>
      refused(field, 'POST /svc/pipeline', simple('cam-1', { [field]: [] })),
    ),
    refused('klv_config', 'POST /svc/pipeline', advanced('cam-1', { klv_config: [] })),
    ...['reconnect', 'on_demand', 'screenshots', 'triggers', 'encoder', 'advanced', 'readers'].map((group) =>
      refused(group, 'PUT /svc/settings', { [group]: [] }),
    ),
  ])('is refused as %s of %s', async (where, line, body) => {
    const [method = '', path = ''] = line.split(' ')
    const response = await api().send(method, path, body)
    expect([response.status, await response.text()]).toEqual([
      400,
      expect.stringContaining(`{"path":"${where}","message":"Use an object"}`),
    ])
  })
})
