import { describe, expect, it, vi } from 'vitest'
import { licensedCodecs, licenseFault, readLicense, requireLicense } from '../../../../lib/license/license.ts'
import type { LicenseState } from '../../../../lib/schema/license.ts'
import type { PipelineConfig } from '../../../../lib/schema/pipeline.ts'

const clock = { now: () => Date.parse('2026-11-20T10:00:00Z') }

describe('reading a license', () => {
  it.each([
    ['no file licenses everything', null, 'unlimited', undefined],
    ['a whole license is valid', '{"licensee":"x","codecs":["h264"],"max_streams":4,"expires":"2027-01-01"}', 'valid', undefined],
    ['limit and expiry may be left out', '{"licensee":"x","codecs":[]}', 'valid', undefined],
    ['limit and expiry may be null', '{"licensee":"x","codecs":[],"max_streams":null,"expires":null}', 'valid', undefined],
    ['a day is good until its end', '{"licensee":"x","codecs":[],"expires":"2026-11-20"}', 'valid', undefined],
    ['the day before is over', '{"licensee":"x","codecs":[],"expires":"2026-11-19"}', 'expired', 'It expired on 2026-11-19.'],
    ['a moment is exact', '{"licensee":"x","codecs":[],"expires":"2026-11-20T09:59:59Z"}', 'expired', '2026-11-20T09:59:59Z.'],
    ['an empty file is unreadable', '', 'unreadable', 'JSON'],
    ['broken JSON is unreadable', '{"licensee"', 'unreadable', 'JSON'],
    ['an unknown codec is unreadable', '{"licensee":"x","codecs":["vp9"]}', 'unreadable', 'at codecs.0'],
    ['an unknown field is unreadable', '{"licensee":"x","codecs":[],"max_stream":4}', 'unreadable', 'at max_stream'],
    ['a date that is none is unreadable', '{"licensee":"x","codecs":[],"expires":"2026-13-45"}', 'unreadable', 'a date such as 2027-01-31'],
  ])('%s', async (_, text, status, fault) => {
    const source = { read: async () => text }
    expect((await readLicense(source, clock)).status).toBe(status)
    expect(await licenseFault(source, clock)).toEqual(fault && expect.stringContaining(fault))
  })

  it('a file that cannot be read is unreadable', async () => {
    const source = { read: async () => Promise.reject(new Error('EACCES')) }
    expect([await readLicense(source, clock), await licenseFault(source, clock)]).toEqual([{ status: 'unreadable' }, 'EACCES'])
  })
})

const common = {
  id: 'a',
  on_demand: false,
  output: null,
  klv_config: { pass_klv: false, auto_extract_geolocation: false, synchronous: false },
  audio: 'off' as const,
  audio_bitrate: null,
  push: [],
  ephemeral: false,
}
const passed: PipelineConfig = { ...common, mode: 'simple', source: { uri: 'rtsp://h/', latency_ms: 200 }, encoding: null }
const encoded: PipelineConfig = { ...passed, encoding: { codec: 'h265', bitrate: 1, quality: 7 } }
const described: PipelineConfig = { ...common, mode: 'advanced', raw_pipeline: 'videotestsrc ! encodebin profile=video/x-h264 ! fakesink' }
const VALID: LicenseState = { status: 'valid', license: { licensee: 'x', codecs: [], max_streams: null, expires: null } }

it.each([
  ['of the dry run of an advanced pipeline', VALID, described, ['h264', 'h265'], 1],
  ['of the encoding of a simple pipeline', VALID, encoded, ['h265'], 0],
  ['none of a stream that is passed through', VALID, passed, [], 0],
  ['none without a license', { status: 'unlimited' }, described, [], 0],
  ['none under a license that has expired', { status: 'expired' }, described, [], 0],
  ['none under a license that cannot be read', { status: 'unreadable' }, described, [], 0],
] as const)('the codecs that a license has to cover are those %s', async (_, state, config, codecs, checks) => {
  const check = vi.fn(async () => ({ launch: '', publishes: false, codecs: ['h264', 'h265'] as const }))
  expect(await licensedCodecs(state, { check }, config)).toEqual(codecs)
  expect(check).toHaveBeenCalledTimes(checks)
})

it.each([
  [1, '1 running pipeline.'],
  [2, '2 running pipelines.'],
])('a license for %i is refused with the number', (max_streams, text) => {
  const state: LicenseState = { status: 'valid', license: { licensee: 'x', codecs: [], max_streams, expires: null } }
  requireLicense(state, [], max_streams - 1)
  expect(() => requireLicense(state, [], max_streams)).toThrow(`The license allows ${text}`)
})
