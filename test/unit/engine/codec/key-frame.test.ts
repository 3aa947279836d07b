import { describe, expect, it } from 'vitest'
import { keyFrameDetector } from '../../../../engine/codec/key-frame.ts'
import { rounds } from '../../../helpers/random.ts'
import { Random } from '../../../helpers/rtsp/random-bytes.ts'

const hex = (text: string) => Buffer.from(text.replaceAll(' ', ''), 'hex')

describe('a key frame', () => {
  it.each([
    ['H264', 'IDR slice', '65 88', true],
    ['H264', 'slice of another picture', '41 9a', false],
    ['H264', 'parameter set alone', '67 42', false],
    ['H264', 'STAP-A with an IDR slice', '78 0002 6742 0001 68 0002 6588', true],
    ['H264', 'STAP-A without an IDR slice', '78 0002 6742 0001 68', false],
    ['H264', 'FU-A that starts an IDR slice', '7c 85 88', true],
    ['H264', 'FU-A that continues an IDR slice', '7c 05 88', false],
    ['H264', 'SEI with a recovery point', '06 05 01 aa 06 01 c4 80', true],
    ['H264', 'SEI without a recovery point', '06 05 02 aabb 80', false],
    ['H265', 'IDR_W_RADL', '26 01', true],
    ['H265', 'CRA', '2a 01', true],
    ['H265', 'TRAIL_R', '02 01', false],
    ['H265', 'AP with an IDR', '60 01 0002 4001 0002 2601', true],
    ['H265', 'FU that starts an IDR', '62 01 93', true],
    ['H265', 'FU that continues an IDR', '62 01 13', false],
    ['VP8', 'first partition of a key frame', '10 00', true],
    ['VP8', 'key frame after an extended descriptor', '90 80 8123 00', true],
    ['VP8', 'interframe', '10 01', false],
    ['VP8', 'continuation', '00 00', false],
    ['VP9', 'beginning of a frame without prediction', '08 00', true],
    ['VP9', 'beginning of a predicted frame', '48 00', false],
    ['VP9', 'higher spatial layer', '28 02', false],
    ['AV1', 'new coded video sequence', '18 0a', true],
    ['AV1', 'other', '10 0a', false],
    ['MPV', 'sequence header', '00000000 000001b3 14', true],
    ['MPV', 'picture', '00000000 00000100 00', false],
    ['MP4V-ES', 'I-VOP', '000001b6 10', true],
    ['MP4V-ES', 'P-VOP', '000001b6 50', false],
    ['JPEG', 'any packet', '00', true],
    ['SMPTE336M', 'any packet', '06', true],
    ['h264', 'IDR slice, name in lower case', '65', true],
  ])('%s: %s', (name, _, payload, expected) => {
    // The detector must ignore the bytes around the payload.
    const data = Buffer.concat([hex('656565'), hex(payload), hex('656565')])
    expect(keyFrameDetector(name)(data, 3, 3 + hex(payload).length)).toBe(expected)
  })

  it('is detected without an error in malformed payloads', () => {
    const detectors = ['H264', 'H265', 'VP8', 'VP9', 'AV1', 'MPV', 'MP4V-ES'].map(keyFrameDetector)
    for (let seed = 1; seed <= rounds(300); seed += 1) {
      const random = new Random(seed)
      const data = random.bytes(random.integer(40))
      for (const detect of detectors) expect(typeof detect(data, 0, data.length), `seed ${seed}`).toBe('boolean')
    }
  })
})
