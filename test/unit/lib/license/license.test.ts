import { describe, expect, it } from 'vitest'
import { encodedCodecs, readLicense } from '../../../../lib/license/license.ts'
import type { AdvancedConfig } from '../../../../lib/schema/pipeline.ts'

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

const described = (raw_pipeline: string): AdvancedConfig => ({
  id: 'a',
  mode: 'advanced',
  on_demand: false,
  output: null,
  klv_config: { pass_klv: false, auto_extract_geolocation: false },
  ephemeral: false,
  raw_pipeline,
})

describe('the codecs that a description encodes', () => {
  for (const [description, codecs] of [
    ['videotestsrc ! x264enc ! rtph264pay name=pay0', ['h264']],
    ['videotestsrc!x265enc!rtph265pay name=pay0', ['h265']],
    ['v4l2src ! v4l2h264enc ! fakesink', ['h264']],
    ['videotestsrc ! nvh265enc ! fakesink', ['h265']],
    ['videotestsrc ! vah264lpenc ! fakesink', ['h264']],
    ['videotestsrc ! openh264enc ! fakesink', ['h264']],
    ['videotestsrc ! tee name=t t. ! x264enc ! fakesink t. ! x265enc ! fakesink', ['h264', 'h265']],
    ['rtspsrc location=rtsp://h/x264enc ! rtph264depay ! rtph264pay name=pay0', []],
    ['videotestsrc ! jpegenc ! rtpjpegpay name=pay0', []],
  ] as const) {
    it(`of ${description}`, () => expect(encodedCodecs(described(description))).toEqual(codecs))
  }
})
