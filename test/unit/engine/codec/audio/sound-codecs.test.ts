import { describe, expect, it } from 'vitest'
import { parseAacConfig, parseLatmConfig, withAdts } from '../../../../../engine/codec/audio/aac.ts'
import { opusSamples } from '../../../../../engine/codec/audio/opus.ts'
import { soundOf } from '../../../../../engine/codec/audio/sound-codecs.ts'

const hex = (text: string) => Buffer.from(text.replaceAll(' ', ''), 'hex')
const caps = (encodingName: string, clockRate: number, parameters: Record<string, string> = {}) => ({
  encodingName,
  clockRate,
  parameters: new Map(Object.entries(parameters)),
})
const AAC = caps('MPEG4-GENERIC', 48_000, { config: '1190', sizelength: '13', indexlength: '3', indexdeltalength: '3' })
const LATM = caps('MP4A-LATM', 48_000, { cpresent: '0', config: '40002320' })
/** 417 bytes of MPEG-1 layer III, and of layer II, each with its header in RTP. */
const MP3 = hex('00000000 fffb9064')
const MP2 = hex('00000000 fffda404')
const OPUS_STEREO = hex('fc 0102')

describe('sound by its caps and its first packet', () => {
  it.each([
    ['AAC', AAC, undefined, 'aac 48000 2', { codec: 'mp4a.40.2', sampleRate: 48_000, numberOfChannels: 2 }],
    ['AAC in LATM', LATM, undefined, 'aac 48000 2', { codec: 'mp4a.40.2', sampleRate: 48_000, numberOfChannels: 2 }],
    ['Opus', caps('OPUS', 48_000), OPUS_STEREO, 'opus 48000 2', { codec: 'opus', sampleRate: 48_000, numberOfChannels: 2 }],
    ['PCMU', caps('PCMU', 8000), undefined, 'pcmu 8000 1', { codec: 'ulaw', sampleRate: 8000, numberOfChannels: 1 }],
    ['PCMA', caps('PCMA', 8000), undefined, 'pcma 8000 1', { codec: 'alaw', sampleRate: 8000, numberOfChannels: 1 }],
    [
      'L16',
      caps('L16', 44_100, { 'encoding-params': '2' }),
      undefined,
      'l16 44100 2',
      { codec: 'pcm-s16', sampleRate: 44_100, numberOfChannels: 2 },
    ],
    ['MP3', caps('MPA', 90_000), MP3, 'mp3 44100 2', { codec: 'mp3', sampleRate: 44_100, numberOfChannels: 2 }],
    ['MP2', caps('MPA', 90_000), MP2, 'mp2 48000 2', undefined],
  ])('%s', (_name, of, first, expected, config) => {
    const sound = soundOf(of, first && [first])
    expect([`${sound?.codec} ${sound?.rate} ${sound?.channels}`, sound?.config]).toEqual([expected, config])
  })

  it.each([
    ['MPEG audio before its first packet', caps('MPA', 90_000)],
    ['AAC without a configuration', caps('MPEG4-GENERIC', 48_000)],
    ['AAC with a configuration that is cut', caps('MPEG4-GENERIC', 48_000, { config: '11' })],
    ['LATM with its configuration in the band', caps('MP4A-LATM', 90_000, { config: '40002320' })],
    ['a codec that is not carried', caps('G722', 8000)],
    ['a name that every object has', caps('constructor', 8000)],
  ])('is unknown: %s', (_name, of) => {
    expect(soundOf(of)).toBeUndefined()
  })
})

describe('the frames of a unit', () => {
  const frames = (of: typeof AAC, ...payloads: string[]) =>
    soundOf(of, payloads.map(hex))
      ?.frames(payloads.map(hex))
      .map((frame) => Buffer.from(frame).toString('hex'))
  const adts = (frame: string) => `fff14c80${(((frame.length / 2 + 7) << 5) | 0x1f).toString(16).padStart(4, '0')}fc${frame}`

  it.each([
    ['one AAC frame', AAC, ['0010 0018 aabbcc'], [adts('aabbcc')]],
    ['two AAC frames in a packet', AAC, ['0020 0010 0018 aabb ccddee'], [adts('aabb'), adts('ccddee')]],
    ['an AAC frame in two packets', AAC, ['0010 0028 aabb', '0010 0028 ccddee'], [adts('aabbccddee')]],
    ['an AAC frame whose header is cut', AAC, ['0080 0010'], []],
    ['LATM', LATM, ['02aabb'], [adts('aabb')]],
    ['LATM that states more than there is', LATM, ['09aabb'], []],
    ['L16, in the byte order of decoders', caps('L16', 8000), ['0102 0304'], ['02010403']],
    ['a later part of a frame of MPEG audio', caps('MPA', 90_000), ['00000000 fffb9064 aa', '00000100 bb'], ['fffb9064aa']],
  ])('%s', (_name, of, payloads, expected) => {
    expect(frames(of, ...payloads)).toEqual(expected)
  })
})

it.each([
  ['fc', 960],
  ['00', 480],
  ['fb 02', 1920],
  ['', 0],
])('an Opus packet that begins with %s has %i samples', (packet, samples) => {
  expect(opusSamples(hex(packet))).toBe(samples)
})

it('the core of HE-AAC is what ADTS carries, and other formats are not', () => {
  expect(parseAacConfig(hex('2b920800'))).toMatchObject({ objectType: 2, rate: 22_050, channels: 2 })
  expect(parseLatmConfig(hex('c0002320'))).toBeUndefined()
  const eld = parseAacConfig(hex('f8e85000'))
  expect(eld && withAdts(hex('aa'), eld)).toBeUndefined()
})
