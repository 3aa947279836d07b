import { expect, it } from 'vitest'
import { reportTexts } from '../../../../../../handlers/dashboard/page/words/report.ts'
import { TEST_REPORT } from '../../../../../../lib/openapi/examples.ts'

const audio = { codec: 'pcmu', rate: 8000, channels: 1, carried: false, reason: 'MPEG-TS has no place for it' }

it.each([
  [{}, ['H.264, 1920×1080, 25 fps', '4.1 Mbit/s', 'Sound: AAC, 48 kHz, stereo', 'No KLV metadata', 'First picture after 0.6 s']],
  [
    { video: { codec: 'jpeg', width: null, height: null, fps: null }, audio, bitrate_kbps: 0, klv: true, start_ms: 49 },
    [
      'JPEG. Encode it below: browsers and most players need H.264',
      'Sound: PCMU, 8 kHz, mono. MPEG-TS has no place for it',
      'With KLV metadata',
      'First picture after 0.0 s',
    ],
  ],
])('says what %j of a test is', (change, texts) => expect(reportTexts({ ...TEST_REPORT, ...change })).toEqual(texts))
