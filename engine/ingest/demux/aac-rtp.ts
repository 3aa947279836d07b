import type { AdtsHeader } from '../../codec/audio/aac.ts'
import { type RtpCaps, SOUND_PAYLOAD } from '../../rtp/caps.ts'

/** What an RTP packet carries of a frame at most: with its headers less than a packet of Ethernet. */
const MAX_PART_BYTES = 1400

/** The caps of AAC; `config`: its AudioSpecificConfig, hexadecimal. */
export const aacCaps = ({ rate, channels, config }: Pick<AdtsHeader, 'rate' | 'channels' | 'config'>): RtpCaps => ({
  media: 'audio',
  encodingName: 'MPEG4-GENERIC',
  payload: SOUND_PAYLOAD,
  clockRate: rate,
  parameters: new Map([
    ['encoding-params', String(channels)],
    ['streamtype', '5'],
    ['profile-level-id', '2'],
    ['mode', 'AAC-hbr'],
    ['config', config],
    ['sizelength', '13'],
    ['indexlength', '3'],
    ['indexdeltalength', '3'],
    ['timestamp-offset', '0'],
  ]),
})

/** The access unit after its AU header, which states the size of the whole; in parts where it is too large for one packet (section 3.2.3.2). */
export const aacPayloads = (unit: Uint8Array): readonly Uint8Array[] => {
  const payloads: Uint8Array[] = []
  for (let at = 0; at < unit.length; at += MAX_PART_BYTES) {
    const part = unit.subarray(at, at + MAX_PART_BYTES)
    const payload = new Uint8Array(4 + part.length)
    payload.set([0, 16, unit.length >> 5, (unit.length & 0x1f) << 3])
    payload.set(part, 4)
    payloads.push(payload)
  }
  return payloads
}
