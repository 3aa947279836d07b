import { describe, expect, it } from 'vitest'
import { advanced, simple, useTestApi } from '../../helpers/api/api.ts'
import { row, testRowsOnAllHosts } from '../../helpers/api/rows.ts'

const cam = (more: object) => simple('cam-1', { ...more })
const source = (more: object) => cam({ source: { uri: 'rtsp://10.0.0.5/stream', ...more } })
const sources = (...uris: readonly string[]) => uris.map((uri) => source({ uri }))
const encoding = (more: object) => cam({ encoding: { codec: 'h264', ...more } })
const outputs = (...uris: readonly string[]) => uris.map((uri) => cam({ output: { uri } }))
const place = (more: object) => cam({ geolocation: { latitude: 0, longitude: 0, ...more } })
const push = (...uris: readonly string[]) => cam({ push: uris.map((uri) => ({ uri })) })
const pushes = (...uris: readonly string[]) => uris.map((uri) => push(uri))
const without = (name: string) => Object.fromEntries(Object.entries(simple('cam-1')).filter(([key]) => key !== name))
const uriOfLength = (length: number) => 'rtsp://10.0.0.5/'.padEnd(length, 'a')
const eachOf = (make: (more: object) => object, name: string, ...values: readonly unknown[]) =>
  values.map((value) => make({ [name]: value }))

const SILENT = 'videotestsrc ! fakesink'
const SIZE = { width: 640, height: 480 }

/** Pipelines that are refused, by the field that the answer names. */
const REFUSED: Readonly<Record<string, readonly object[]>> = {
  id: [without('id'), ...['', 'a.b', 'a/b', 'kamera-ü', 'cam-1\n', 'a'.repeat(65), 7].map((id) => cam({ id }))],
  mode: [{ id: 'cam-1' }, cam({ mode: 'easy' })],
  on_demand: eachOf(cam, 'on_demand', 'true', null),
  colour: [cam({ colour: 'red' })],
  'source.user': [source({ user: 'bob' })],
  'encoding.gop': [encoding({ gop: 30 })],
  'output.port': [cam({ output: { uri: 'rtsp://0.0.0.0:8600/cam-1', port: 1 } })],
  source: [without('source'), advanced('adv', { source: { uri: 'rtsp://10.0.0.5/' } })],
  encoding: [advanced('adv', { encoding: { codec: 'h264' } })],
  raw_pipeline: [
    ...[cam({ raw_pipeline: SILENT }), { id: 'adv', mode: 'advanced' }],
    ...['', 'x'.repeat(16385), 'a\u0000b'].map((raw_pipeline) => advanced('adv', { raw_pipeline })),
  ],
  'source.uri': [
    ...sources('', '10.0.0.5/stream', 'ftp://10.0.0.5/stream', uriOfLength(2049), 'rtsp://10.0.0.5/a b', 'rtsp://10.0.0.5/a\nb'),
    ...sources('rtsp://10.0.0.5/stream#1', 'rtsp://user:s/cret@10.0.0.5/stream', 'http://', 'rtsp:///stream'),
    // Without a port, and with one that cannot be.
    ...sources('udp://239.1.1.1', 'srt://10.0.0.5', 'srt://?mode=listener', 'rtsp://10.0.0.5:0/stream'),
    // Without a host to call, in an unknown mode, with a passphrase of 9 characters or 80 bytes, with a wrong latency.
    ...sources('srt://:9000', 'srt://10.0.0.5:9000?mode=server', 'srt://10.0.0.5:9000?passphrase=123456789'),
    ...sources(`srt://10.0.0.5:9000?passphrase=${'%C3%A4'.repeat(40)}`, 'srt://10.0.0.5:9000?latency=low'),
  ],
  'source.latency_ms': eachOf(source, 'latency_ms', -1, 60001, '200'),
  'encoding.codec': [cam({ encoding: { bitrate: 2000 } }), encoding({ codec: 'av1' })],
  'encoding.bitrate': eachOf(encoding, 'bitrate', 49, 200001),
  'encoding.width': [encoding({ height: 480 }), ...eachOf((more) => encoding({ ...SIZE, ...more }), 'width', 641, 14)],
  'encoding.height': [encoding({ width: 640 }), encoding({ ...SIZE, height: 8194 })],
  'encoding.fps': eachOf(encoding, 'fps', 0.5, 241),
  'encoding.quality': eachOf(encoding, 'quality', 0, 11, 7.5),
  'output.uri': outputs('cam-1', 'rtsp://0.0.0.0/cam-1', 'rtsp://0.0.0.0:8600/cam-2', 'rtsp://0.0.0.0:8600/cam-1?a=b'),
  audio: [cam({ audio: 'mp3' }), cam({ audio: null })],
  audio_bitrate: [cam({ audio_bitrate: 15 }), cam({ audio_bitrate: 321 }), cam({ audio_bitrate: 64.5 })],
  'klv_config.pass_klv': [cam({ klv_config: { pass_klv: 1 } })],
  'klv_config.synchronous': [cam({ klv_config: { synchronous: 'yes' } })],
  'klv_config.decode': [cam({ klv_config: { decode: true } })],
  push: [
    cam({ push: { uri: 'srt://10.0.0.9:9000' } }),
    push(...Array.from({ length: 9 }, (_, at) => `udp://10.0.0.9:${5000 + at}`)),
    push('srt://10.0.0.9:9000', 'srt://10.0.0.9:9000'),
    { ...encoding({ codec: 'h265' }), push: [{ uri: 'rtmp://10.0.0.9/live/key' }] },
  ],
  'push.0.key': [cam({ push: [{ uri: 'srt://10.0.0.9:9000', key: 'x' }] })],
  'push.0.uri': [
    ...pushes('http://10.0.0.9/live', '10.0.0.9:9000', uriOfLength(2049), 'rtsp://user:1#2@10.0.0.5/stream', 'rtsp:///live'),
    ...pushes('srt://10.0.0.9', 'srt://:9000', 'srt://10.0.0.9:9000?mode=rendezvous', 'srt://10.0.0.9:9000?passphrase=123456789'),
    ...pushes('srt://10.0.0.9:9000?latency=-1', 'udp://239.1.1.1', 'udp://239.1.1.1:5000?ttl=0', 'udp://10.0.0.9:65536'),
    ...pushes('rtmp://10.0.0.9/live'),
  ],
  'push.1.uri': [push('srt://10.0.0.9:9000', 'srt://10.0.0.9:9001?streamid=a b')],
  'geolocation.latitude': eachOf(place, 'latitude', -90.1, 90.1),
  'geolocation.longitude': [place({ longitude: 180.1 }), cam({ geolocation: { latitude: 1 } })],
  'geolocation.altitude': eachOf(place, 'altitude', -1001, 100001),
  'geolocation.heading': eachOf(place, 'heading', -1, 361),
}

const ACCEPTED: Readonly<Record<string, readonly object[]>> = {
  id: [simple('a'.repeat(64)), simple('-_-')],
  'source.uri': [
    ...sources(uriOfLength(2048), 'RTSP://10.0.0.5/stream', 'v4l2:///dev/video0', 'test://smpte?width=640&height=480'),
    ...['rtsp', 'rtsps', 'rtspt', 'udp', 'srt', 'rtmp', 'rtmps', 'http', 'https'].flatMap((scheme) =>
      sources(`${scheme}://10.0.0.5:9000/x`),
    ),
    ...sources(`srt://10.0.0.5:9000?passphrase=${'a'.repeat(79)}&mode=rendezvous&latency=60`, 'srt://:9000?mode=listener'),
  ],
  'source.latency_ms': eachOf(source, 'latency_ms', 0, 60000),
  encoding: [
    cam({ encoding: null }),
    encoding({ bitrate: 50, width: 16, height: 16, fps: 1, quality: 1 }),
    encoding({ bitrate: 200000, width: 8192, height: 8192, fps: 240, quality: 10 }),
  ],
  output: [cam({ output: {} }), advanced('adv', { raw_pipeline: SILENT, output: {} }), ...outputs('rtsp://[::]:8600/cam-1')],
  raw_pipeline: [advanced('adv', { raw_pipeline: SILENT.padEnd(16384, ' ') })],
  push: [
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
  geolocation: [cam({ geolocation: null }), place({ latitude: -90, longitude: 180, altitude: -1000, heading: 360 })],
}

describe('the fields of a pipeline', () => {
  const api = useTestApi()

  it.each(Object.entries(REFUSED))('refuse what %s may not be', async (path, bodies) => {
    const { engine, send } = api()
    engine.calls.length = 0
    for (const body of bodies) {
      const response = await send('POST', '/svc/pipeline', body)
      const { details } = (await response.json()) as { details: { issues?: { path: string }[] } }
      const paths = details.issues?.map((issue) => issue.path)
      expect([body, response.status, paths]).toEqual([body, 400, expect.arrayContaining([path])])
    }
    expect(engine.calls).toEqual([])
  })

  it.each(Object.entries(ACCEPTED))('accept what %s may be', async (_, bodies) => {
    for (const body of bodies) expect([body, (await api().send('POST', '/svc/pipeline/validate', body)).status]).toEqual([body, 200])
  })

  const MISTAKES = { id: 'a b', mode: 'simple', source: { uri: 'nope://root:hunter2@h/', latency_ms: 'secret-value' } }
  const lacks = ['hunter2', 'root', 'secret-value']
  const named = ['"id"', '"source.uri"', '"source.latency_ms"']
  testRowsOnAllHosts([row('list every mistake in one answer and echo no value', ['POST /svc/pipeline', MISTAKES], 400, named, { lacks })])
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
    const issue = expect.stringContaining(`{"path":"${where}","message":"Use an object"}`)
    expect([response.status, await response.text()]).toEqual([400, issue])
  })
})
