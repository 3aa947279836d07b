import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { parseRtpCaps } from '../../../../engine/rtp/caps.ts'
import { formatAnswer } from '../../../../engine/webrtc/answer.ts'
import { chooseData, chooseSound, chooseVideo } from '../../../../engine/webrtc/choose-codecs.ts'
import { fragmentCandidates, parseOffer } from '../../../../engine/webrtc/offer.ts'

const CHROMIUM = readFileSync(new URL('../../../fixtures/webrtc/chromium-offer.sdp', import.meta.url), 'utf8')
const offer = parseOffer(CHROMIUM)

const caps = (fields: string) => parseRtpCaps(`application/x-rtp, clock-rate=90000, payload=96, ${fields}`) ?? expect.fail('No caps')
/** Sequence parameter sets of x264, by profile_idc. */
const SETS: Readonly<Record<number, string>> = {
  66: 'Z0LAFdkBQfsBagwMDUoAAAMAAgAAAwB5HixckA==',
  77: 'Z01AFdkBQfsBagwMDUoAAAMAAgAAAwB5HixckA==',
  100: 'Z2QAFKyyAoP2AtQYGBqUAAADAAQAAAMA8jxQqSA=',
  122: 'Z3oADbyyAoP2AtQYGBkAAAMAAQAAAwA8jxQqSA==',
  244: 'Z/QADZGWQFB+wFqDAwMgAAADACAAAAeR4oVJ',
}
const h264 = (profile: number) => caps(`media=video, encoding-name=H264, sprop-parameter-sets="${SETS[profile]},aOvMsg=="`)
const H265 = caps('media=video, encoding-name=H265')
const OPUS = parseRtpCaps('application/x-rtp, media=audio, clock-rate=48000, encoding-name=OPUS, payload=97, encoding-params=2')
const PCMA = parseRtpCaps('application/x-rtp, media=audio, clock-rate=8000, encoding-name=PCMA, payload=8')
const AAC = parseRtpCaps('application/x-rtp, media=audio, clock-rate=48000, encoding-name=MPEG4-GENERIC, payload=97')

describe('an offer', () => {
  it('of Chromium is read', () => {
    expect(offer).toMatchObject({ setup: 'actpass', candidates: [], bundle: ['0', '1', '2'] })
    expect(offer.media.map(({ kind, receives }) => [kind, receives])).toEqual([
      ['video', true],
      ['audio', true],
      ['application', true],
    ])
  })

  const without = (line: string): string => CHROMIUM.replaceAll(new RegExp(`^a=${line}.*\r\n`, 'gm'), '')
  it.each([
    ['is no SDP', 'hello', 'v=0'],
    ['has no media', CHROMIUM.slice(0, CHROMIUM.indexOf('m=')), 'no m= line'],
    ['has no ICE user', without('ice-ufrag'), 'ice-ufrag'],
    ['has no fingerprint', without('fingerprint'), 'fingerprint'],
    ['has a fingerprint by MD5', CHROMIUM.replaceAll('sha-256', 'md5'), 'fingerprint'],
    ['has a broken m= line', CHROMIUM.replace('m=video 9', 'm=video x'), 'm= line 1'],
    ['has the same mid twice', CHROMIUM.replace('a=mid:1', 'a=mid:0'), 'a=mid'],
    ['is too long', `${CHROMIUM}${'a=x\r\n'.repeat(20_000)}`, 'longer'],
    ['has too many sections', `${CHROMIUM}${'m=audio 9 RTP/AVP 0\r\n'.repeat(20)}`, 'm= lines'],
  ])('that %s is refused', (_name, text, reason) => {
    expect(() => parseOffer(text)).toThrow(expect.objectContaining({ code: 'VALIDATION_ERROR', message: expect.stringContaining(reason) }))
  })

  it('may spell its section names and its hash function in any way of their grammar', () => {
    const spelled = CHROMIUM.replace('a=mid:0', 'a=mid:{v}!~').replaceAll('sha-256', 'SHA-256')
    expect(parseOffer(spelled).media[0]?.mid).toBe('{v}!~')
    expect(parseOffer(spelled).fingerprint).toMatch(/^sha-256 /)
  })

  it('gives the candidates that can be tried: UDP, with an address', () => {
    const lines = [
      '1 1 udp 5 192.0.2.7 5000 typ host generation 0',
      '2 1 tcp 5 192.0.2.7 9 typ host',
      '3 1 udp 5 a1.local 5000 typ host',
      '4 1 UDP 5 2001:db8::1 1 typ relay',
      '5 1 udp 5 999.1.1.1 5 typ host',
    ]
    const fragment = lines.map((line) => `a=candidate:${line}`).join('\r\n')
    expect(fragmentCandidates(`a=ice-ufrag:abcd\r\n${fragment}`, 'abcd')).toEqual([
      '1 1 UDP 5 192.0.2.7 5000 typ host',
      '4 1 UDP 5 2001:db8::1 1 typ relay',
    ])
    const ofPlayer = ['3 1 UDP 5 198.51.100.4 5000 typ host']
    expect(fragmentCandidates(fragment, 'abcd', '198.51.100.4')).toEqual(expect.arrayContaining(ofPlayer))
    expect(parseOffer(`${CHROMIUM}${fragment}\r\n`, '198.51.100.4').candidates).toEqual(expect.arrayContaining(ofPlayer))
    expect(() => fragmentCandidates('a=ice-ufrag:other', 'abcd')).toThrow(expect.objectContaining({ code: 'UNPROCESSABLE_CONTENT' }))
    expect(() => fragmentCandidates('', 'abcd')).toThrow(expect.objectContaining({ code: 'VALIDATION_ERROR' }))
  })
})

describe('the codec', () => {
  it.each([
    [66, '42001f'],
    [77, '4d001f'],
    // Chromium offers no High: decoders take it all the same.
    [100, '4d001f'],
    [244, 'f4001f'],
  ])('of H.264 with profile %i is the one with %s and fragments', (profile, level) => {
    expect(chooseVideo(offer, h264(profile)).codec.fmtp).toBe(`level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=${level}`)
  })

  it('of H.264 without parameters, of players that state none, is taken after one with fragments', () => {
    const without = CHROMIUM.replaceAll(/^a=fmtp.*\r\n/gm, '')
    expect(chooseVideo(parseOffer(without), h264(66)).codec).toMatchObject({ name: 'H264', fmtp: undefined })
  })

  it('of a profile that browsers do not decode, and H.265 where it is not offered, is not acceptable', () => {
    const refusal = expect.objectContaining({
      code: 'NOT_ACCEPTABLE',
      details: { reason: 'codec' },
      message: expect.stringContaining('encoding.codec'),
    })
    expect(() => chooseVideo(offer, h264(122))).toThrow(refusal)
    expect(() => chooseVideo(offer, H265)).toThrow(refusal)
    // As of Firefox without its plugin.
    const withoutH264 = parseOffer(CHROMIUM.replaceAll('H264/90000', 'VP8/90000'))
    expect(() => chooseVideo(withoutH264, h264(66))).toThrow('Use a player that offers H264')
    const withH265 = parseOffer(CHROMIUM.replaceAll('H264/90000', 'H265/90000').replaceAll('packetization-mode=1', 'profile-id=1'))
    expect(chooseVideo(withH265, H265).codec.name).toBe('H265')
  })

  it('of sound is the same, and sound that no browser takes is left out', () => {
    expect([OPUS, PCMA, AAC].map((sound) => sound && chooseSound(offer, sound)?.codec.payload)).toEqual([111, 8, undefined])
  })

  it('without a section that receives is not acceptable', () => {
    const sendOnly = parseOffer(CHROMIUM.replaceAll('a=recvonly', 'a=sendonly'))
    expect(() => chooseVideo(sendOnly, h264(66))).toThrow(
      expect.objectContaining({ code: 'NOT_ACCEPTABLE', details: { reason: 'no_video' } }),
    )
  })
})

it.each([0, 15, 200])('a header extension with the id %d, which no packet can carry, is not agreed on', (id) => {
  const { media } = parseOffer(CHROMIUM.replace('a=extmap:5 ', `a=extmap:${id} `))
  const names = [...(media[0]?.extensions.keys() ?? [])]
  expect(names).toContain('http://www.webrtc.org/experiments/rtp-hdrext/abs-send-time')
  expect(names).not.toContain('http://www.webrtc.org/experiments/rtp-hdrext/playout-delay')
})

it('an answer has a section for each of the offer, and refuses what is not sent', () => {
  const local = { ufrag: 'u', password: 'p', fingerprint: 'sha-256 AA', setup: 'active', candidates: [] }
  const video = { ...chooseVideo(offer, h264(66)), ssrc: 7 }
  const candidates = ['1 1 UDP 9 192.0.2.1 8189 typ host']
  const format = (data = chooseData(offer)) =>
    formatAnswer(offer, { sessionId: '1', video, sound: undefined, data, local, candidates }).split('\r\n')
  const lines = format()
  expect(lines.filter((line) => line.startsWith('m='))).toEqual([
    'm=video 9 UDP/TLS/RTP/SAVPF 102',
    expect.stringMatching(/^m=audio 0 UDP\/TLS\/RTP\/SAVPF 111 /),
    'm=application 9 UDP/DTLS/SCTP webrtc-datachannel',
  ])
  expect(lines).toContain('a=group:BUNDLE 0 2')
  expect(lines).toContain('a=candidate:1 1 UDP 9 192.0.2.1 8189 typ host')
  expect(lines.filter((line) => /^a=(?:ssrc|rtcp-fb|extmap)/.test(line))).toEqual([
    'a=rtcp-fb:102 nack',
    'a=rtcp-fb:102 nack pli',
    'a=rtcp-fb:102 goog-remb',
    'a=extmap:5 http://www.webrtc.org/experiments/rtp-hdrext/playout-delay',
    'a=ssrc:7 cname:video-pipeline-service',
    'a=ssrc:7 msid:pipeline video',
  ])
})
