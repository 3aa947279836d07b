import { describe, expect, it } from 'vitest'
import type { EngineCheck } from '../../../../lib/engine/messages.ts'
import { licensedCodecs, licenseFault, readLicense } from '../../../../lib/license/license.ts'
import type { LicenseState } from '../../../../lib/schema/license.ts'
import type { Codec, PipelineConfig } from '../../../../lib/schema/pipeline.ts'

const clock = { now: () => Date.parse('2026-11-20T10:00:00Z') }
const read = (text: string | null) => readLicense({ read: async () => text }, clock)

describe('reading a license', () => {
  for (const [name, text, status] of [
    ['no file licenses everything', null, 'unlimited'],
    ['a whole license is valid', '{"licensee":"x","codecs":["h264"],"max_streams":4,"expires":"2027-01-01"}', 'valid'],
    ['limit and expiry may be left out', '{"licensee":"x","codecs":[]}', 'valid'],
    ['limit and expiry may be null', '{"licensee":"x","codecs":[],"max_streams":null,"expires":null}', 'valid'],
    ['a day is good until its end', '{"licensee":"x","codecs":[],"expires":"2026-11-20"}', 'valid'],
    ['the day before is over', '{"licensee":"x","codecs":[],"expires":"2026-11-19"}', 'expired'],
    ['a moment is exact', '{"licensee":"x","codecs":[],"expires":"2026-11-20T09:59:59Z"}', 'expired'],
    ['an empty file is unreadable', '', 'unreadable'],
    ['broken JSON is unreadable', '{"licensee"', 'unreadable'],
    ['an unknown codec is unreadable', '{"licensee":"x","codecs":["vp9"]}', 'unreadable'],
    ['an unknown field is unreadable', '{"licensee":"x","codecs":[],"max_stream":4}', 'unreadable'],
    ['a date that is none is unreadable', '{"licensee":"x","codecs":[],"expires":"2026-13-45"}', 'unreadable'],
  ] as const) {
    it(name, async () => expect((await read(text)).status).toBe(status))
  }

  it('a file that cannot be read is unreadable', async () => {
    const source = { read: async () => Promise.reject(new Error('EACCES')) }
    expect(await readLicense(source, clock)).toEqual({ status: 'unreadable' })
  })
})

describe('why a license lets no pipeline start', () => {
  for (const [name, text, fault] of [
    ['nothing is said of no license', null, undefined],
    ['nothing is said of a valid one', '{"licensee":"x","codecs":[]}', undefined],
    ['one that is over names its last day', '{"licensee":"x","codecs":[],"expires":"2026-11-19"}', 'It expired on 2026-11-19.'],
    [
      'a wrong field is named',
      '{"licensee":"x","codecs":[],"expires":"19.11.2026"}',
      'The license is not valid at expires. Use a date such as 2027-01-31.',
    ],
    ['text that is no JSON is called so', 'licensee', expect.stringContaining('JSON')],
  ] as const) {
    it(name, async () => expect(await licenseFault({ read: async () => text }, clock)).toEqual(fault))
  }
})

const common = {
  id: 'a',
  on_demand: false,
  output: null,
  klv_config: { pass_klv: false, auto_extract_geolocation: false },
  push: [],
  ephemeral: false,
}
const passed = (uri: string): PipelineConfig => ({ ...common, mode: 'simple', source: { uri, latency_ms: 200 }, encoding: null })
const described: PipelineConfig = { ...common, mode: 'advanced', raw_pipeline: 'videotestsrc ! encodebin profile=video/x-h264 ! fakesink' }

describe('the codecs that a license has to cover', () => {
  const valid: LicenseState = { status: 'valid', license: { licensee: 'x', codecs: [], max_streams: null, expires: null } }
  const engine = (codecs: readonly Codec[]) => {
    const checked: PipelineConfig[] = []
    const check = async (config: PipelineConfig): Promise<EngineCheck> => {
      checked.push(config)
      return { launch: '', publishes: false, codecs }
    }
    return { check, checked }
  }

  it('are those that the dry run of an advanced pipeline finds', async () => {
    const { check, checked } = engine(['h264', 'h265'])
    expect(await licensedCodecs(valid, { check }, described)).toEqual(['h264', 'h265'])
    expect(checked).toEqual([described])
  })

  it('are those of the encoding of a simple pipeline, none of a stream that is passed through or a test picture', async () => {
    const { check, checked } = engine(['h265'])
    const encoded: PipelineConfig = {
      ...common,
      mode: 'simple',
      source: { uri: 'rtsp://h/', latency_ms: 0 },
      encoding: { codec: 'h265', bitrate: 1, quality: 7 },
    }
    expect(await licensedCodecs(valid, { check }, encoded)).toEqual(['h265'])
    expect(await licensedCodecs(valid, { check }, passed('rtsp://h/'))).toEqual([])
    expect(await licensedCodecs(valid, { check }, passed('test://ball'))).toEqual([])
    expect(checked).toEqual([])
  })

  it('are not looked for when there is no license, or none that is valid', async () => {
    const { check, checked } = engine(['h264'])
    for (const status of ['unlimited', 'expired', 'unreadable'] as const)
      expect(await licensedCodecs({ status }, { check }, described)).toEqual([])
    expect(checked).toEqual([])
  })
})
