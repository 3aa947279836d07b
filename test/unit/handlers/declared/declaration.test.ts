import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { readDeclaration } from '../../../../handlers/declared/declaration.ts'
import { DeclarationError } from '../../../../handlers/declared/declaration-error.ts'

const GATE = { id: 'gate', mode: 'simple', source: { uri: 'rtsp://10.0.0.5/stream' } }

const mistakesOf = (text: string): readonly string[] => {
  try {
    readDeclaration(text, 'cameras.yaml')
  } catch (error) {
    if (error instanceof DeclarationError) return error.mistakes
    throw error
  }
  return []
}

describe('a declaration', () => {
  it.each([
    ['a list in JSON', JSON.stringify([GATE])],
    ['one pipeline', 'id: gate\nmode: simple\nsource: { uri: rtsp://10.0.0.5/stream }\n'],
    ['a list in YAML', '# Cameras\n- id: gate\n  mode: simple\n  source:\n    uri: rtsp://10.0.0.5/stream\n'],
    ['YAML with an anchor', 'pipelines:\n  - &one { id: gate, mode: simple, source: { uri: "rtsp://10.0.0.5/stream" } }\n'],
  ])('may be %s', (_, text) => {
    const { pipelines, settings } = readDeclaration(text, 'file')
    expect(pipelines.map(({ id, state, config }) => [id, state, config.on_demand, config.source])).toEqual([
      ['gate', undefined, false, { uri: 'rtsp://10.0.0.5/stream', latency_ms: 200 }],
    ])
    expect(settings).toBeUndefined()
  })

  it('has settings and states, and ignores the read-only fields of answers', () => {
    const answer = { ...GATE, state: 'ready', runtime: { phase: 'idle' }, ephemeral: false, created_at: '2026-11-20T10:00:00.000Z' }
    const settings = { reconnect: { max_delay_seconds: 5 } }
    const declared = readDeclaration(JSON.stringify({ pipelines: [answer], settings }), 'f')
    const [{ state, config } = expect.fail('no pipeline')] = declared.pipelines
    const fields = ['audio_bitrate', 'encoding', 'geolocation', 'id', 'klv_config', 'mode', 'on_demand', 'push', 'source']
    expect([state, Object.keys(config).sort(), declared.settings]).toEqual(['ready', fields, settings])
  })

  it('may be empty', () => {
    for (const empty of ['pipelines: []', '[]']) expect(readDeclaration(empty, 'f').pipelines).toEqual([])
  })

  it.each<[string, string, readonly (string | RegExp)[]]>([
    [
      'a field that does not exist',
      'pipelines:\n  - id: gate\n    mode: simple\n    source: { uri: "test://ball", latency: 5 }\n',
      ['cameras.yaml:4:35: pipelines[0].source.latency: Unknown field'],
    ],
    ['no source, at what misses it', '- id: gate\n  mode: simple\n', ['cameras.yaml:1:3: [0].source: This field is required']],
    [
      'every mistake',
      '- { id: "a b", mode: simple, source: { uri: x://y } }\n- 7\n',
      [/^cameras\.yaml:1:5: \[0\]\.id: /, /^cameras\.yaml:1:40: \[0\]\.source\.uri: /, 'cameras.yaml:2:3: [1]: Use an object'],
    ],
    [
      'an id twice',
      '- &a { id: gate, mode: simple, source: { uri: "test://ball" } }\n- *a\n',
      [/gate is already declared at cameras\.yaml:1:\d+/],
    ],
    ['a state that does not exist', JSON.stringify([{ ...GATE, state: 'paused' }]), [/state: Use one of: ready, playing$/]],
    [
      'settings out of bounds',
      'settings:\n  reconnect:\n    max_delay_seconds: 0\n',
      ['cameras.yaml:3:5: settings.reconnect.max_delay_seconds: Use at least 1'],
    ],
    ['other names', 'pipeline: []\n', [/^cameras\.yaml:1:1: pipeline: Unknown field/]],
    ['broken YAML', 'pipelines:\n  - id: "gate\n', [/^cameras\.yaml:\d+:\d+: /]],
    ['two documents', 'pipelines: []\n---\npipelines: []\n', [/^cameras\.yaml:2:1: A second document begins here; use one document$/]],
    ['a key twice', 'pipelines: []\npipelines: []\n', [/^cameras\.yaml:2:1: .*unique/]],
    ['a key twice in JSON', '{"pipelines":[],"pipelines":[]}', [/^cameras\.yaml:1:17: .*unique/]],
    [
      'JSON with a field that does not exist',
      JSON.stringify([{ ...GATE, colour: 'red' }], null, 2),
      [/^cameras\.yaml:8:5: \[0\]\.colour: /],
    ],
    ['nothing', '', ['cameras.yaml: Use a list of pipelines, or pipelines and settings']],
  ])('with %s is refused with line and column', (_, text, wanted) => {
    expect(mistakesOf(text)).toEqual(wanted.map((line) => (typeof line === 'string' ? line : expect.stringMatching(line))))
  })

  it('cannot grow without bound through aliases', () => {
    const lines = Array.from({ length: 12 }, (_, at) => `- &a${at + 1} [${Array(10).fill(`*a${at}`)}]`)
    expect(mistakesOf(['- &a0 [x, x, x, x, x, x, x, x, x, x]', ...lines].join('\n'))[0]).toMatch(/alias/i)
  })

  it.each([
    ['flow lists', '['.repeat(20_000)],
    ['lists in a line', '- '.repeat(20_000)],
    ['JSON', `{"pipelines":${'['.repeat(65)}${']'.repeat(65)}}`],
    ['groups', `${Array.from({ length: 65 }, (_, at) => `${' '.repeat(at)}a:`).join('\n')} {}`],
    [
      'aliases',
      Array.from({ length: 3 }, (_, at) => `- &a${at} ${'['.repeat(40)}${at > 0 ? `*a${at - 1}` : ''}${']'.repeat(40)}`).join('\n'),
    ],
  ])('has at most 64 levels, also of %s', (_, text) => {
    expect(mistakesOf(text)).toEqual([expect.stringMatching(/^cameras\.yaml:\d+:\d+: Nested too deeply; use at most 64 levels$/)])
  })

  it('never quotes a value, which may be a credential', () => {
    const text = '- { id: gate, mode: simple, source: { uri: "ftp://me:s3cret@host/" }, password: s3cret }'
    expect(mistakesOf(text).join()).toMatch(/^(?!.*s3cret)cameras/)
  })

  it('is what the manifests of Kubernetes mount', () => {
    const text = readFileSync('engine/deploy/kubernetes/pipelines.yaml', 'utf8')
    expect(readDeclaration(text, 'f').pipelines).toEqual([])
    // The example in its comment.
    const [, , ...example] = [...text.matchAll(/^# (.*)$/gm)].map(([, line]) => line)
    expect(readDeclaration(example.join('\n'), 'f').pipelines.map(({ id }) => id)).toEqual(['gate'])
    const [statefulSet, kustomization] = ['stateful-set', 'kustomization'].map((name) =>
      readFileSync(`engine/deploy/kubernetes/${name}.yaml`, 'utf8'),
    )
    expect(statefulSet).toMatch(/name: SVC_PIPELINES\s+value: \/declared\/pipelines\.yaml/)
    expect(kustomization).toMatch(/name: video-pipeline-declared\s+files:\s+- pipelines\.yaml/)
  })
})
