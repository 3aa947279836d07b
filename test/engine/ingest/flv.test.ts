import { execFileSync } from 'node:child_process'
import { describe, expect, it } from 'vitest'
import { parseAdtsHeader } from '../../../engine/codec/audio/aac.ts'
import { soundOf } from '../../../engine/codec/audio/sound-codecs.ts'
import { FlvInput } from '../../../engine/ingest/flv/flv-input.ts'
import { FlvError } from '../../../engine/ingest/flv/flv-reader.ts'
import type { AccessUnit } from '../../../engine/rtp/access-unit.ts'
import { createMediaStreams } from '../../../engine/rtp/media-streams.ts'

const SECONDS = 2
const ffmpeg = (args: string, input?: Buffer): Buffer =>
  execFileSync('ffmpeg', ['-v', 'error', ...args.split(' '), 'pipe:1'], { input, maxBuffer: 2 ** 28 })

const flvOf = (coding: string): Buffer =>
  ffmpeg(
    `-f lavfi -i testsrc2=size=320x180:rate=25:duration=${SECONDS} -f lavfi -i sine=1000:duration=${SECONDS} ${coding} -g 10 -f flv -flvflags no_duration_filesize`,
  )

/** Presentation times in the order of the stream, milliseconds. */
const timesIn = (bytes: Buffer, stream: 'v:0' | 'a:0'): readonly number[] =>
  execFileSync('ffprobe', `-v error -select_streams ${stream} -show_entries packet=pts -of csv=p=0 pipe:0`.split(' '), { input: bytes })
    .toString()
    .split('\n')
    .filter((line) => line !== '')
    .map(Number)

/** What comes of FLV that is read in pieces of `size` bytes. */
const read = (bytes: Buffer, size = 1000) => {
  const streams = createMediaStreams()
  const units: Record<'video' | 'sound', { readonly ms: number; readonly payloads: readonly Buffer[] }[]> = { video: [], sound: [] }
  const note = (list: (typeof units)['video']) => (unit: AccessUnit) =>
    list.push({ ms: unit.mediaMs, payloads: unit.payloads().map((payload) => Buffer.from(payload)) })
  streams[0].begin({ foreign: true })
  streams[2].begin({ caps: null })
  streams[0].onUnit(note(units.video))
  streams[2].onUnit(note(units.sound))
  const others: string[] = []
  const input = new FlvInput({
    video: streams[0],
    sound: streams[2],
    onOtherCodec: () => others.push('video'),
    onOtherSound: (codec) => others.push(codec),
  })
  for (let at = 0; at < bytes.length; at += size)
    for (const tag of input.read(bytes.subarray(at, at + size))) input.take(tag, performance.now())
  const { awaitsCaps } = streams[2]
  for (const stream of streams) stream.end()
  return { ...units, others, awaitsCaps, caps: [streams[0].caps, streams[2].caps] }
}

const steps = (times: readonly number[]): readonly number[] => times.slice(1).map((time, at) => Math.round(time - (times[at] ?? 0)))

/** The tags of H.265 as Enhanced RTMP and as older programs write them, made of those of H.264. */
const asH265 = (bytes: Buffer, isEnhanced: boolean): Buffer => {
  const record = Buffer.alloc(23)
  record[21] = 3
  record[22] = 3
  const sets = [32, 33, 34].map((type) => Buffer.of(type, 0, 1, 0, 3, type << 1, 1, 0xaa))
  const header = Buffer.concat([record, ...sets])
  const parts = [bytes.subarray(0, 13)]
  for (let at = 13; at + 11 < bytes.length; at += 15 + bytes.readUIntBE(at + 1, 3)) {
    const data = bytes.subarray(at + 11, at + 11 + bytes.readUIntBE(at + 1, 3))
    if (bytes[at] !== 9) continue
    const body = data[1] === 0 ? header : Buffer.concat([Buffer.of(0, 0, 0, 3), Buffer.of(1 << 1, 1, 0x80)])
    const kind = data[1] ?? 0
    const head = isEnhanced
      ? Buffer.concat([Buffer.of(0x90 | kind), Buffer.from('hvc1'), kind === 1 ? data.subarray(2, 5) : Buffer.alloc(0)])
      : Buffer.concat([Buffer.of(0x1c, kind), data.subarray(2, 5)])
    const size = Buffer.alloc(4)
    size.writeUInt32BE(11 + head.length + body.length)
    const tag = Buffer.from(bytes.subarray(at, at + 11))
    tag.writeUIntBE(head.length + body.length, 1, 3)
    parts.push(tag, head, body, size)
  }
  return Buffer.concat(parts)
}

describe.each(['-preset ultrafast -tune zerolatency', '-preset veryfast -bf 2'])('video of FLV (%s)', (coding) => {
  it.each([1, 1000, 1_000_000])('has every picture with its time when it comes in pieces of %d bytes', (size) => {
    const bytes = flvOf(`-c:v libx264 ${coding} -c:a aac`)
    const { video, sound, caps } = read(bytes, size)
    expect(steps(video.map(({ ms }) => ms))).toEqual(steps(timesIn(bytes, 'v:0')))
    expect(caps[0]).toMatchObject({ encodingName: 'H264', parameters: expect.objectContaining({}) })
    expect(caps[0]?.parameters.get('sprop-parameter-sets')).toMatch(/,/)
    const relation = (sound[0]?.ms ?? 0) - (video[0]?.ms ?? 0)
    expect(Math.abs(relation - ((timesIn(bytes, 'a:0')[0] ?? 0) - (timesIn(bytes, 'v:0')[0] ?? 0)))).toBeLessThan(2)
  })
})

describe.each([
  ['aac', '-c:a aac -ar 44100', 'adts'],
  ['mp3', '-c:a libmp3lame -ar 44100', 'mp3'],
  ['pcmu', '-c:a pcm_mulaw -ar 8000 -ac 1', 'mulaw'],
  ['pcma', '-c:a pcm_alaw -ar 8000 -ac 1', 'alaw'],
])('sound of FLV in %s', (codec, coding, format) => {
  it('has every frame', () => {
    const bytes = flvOf(`-c:v libx264 -preset ultrafast ${coding}`)
    const { sound, caps, others } = read(bytes)
    const known = caps[1] && soundOf(caps[1], sound[0]?.payloads)
    expect([known?.codec, others]).toEqual([codec, []])
    const frames = sound.flatMap(({ payloads }) => known?.frames(payloads) ?? []).map((frame) => Buffer.from(frame))
    const raw = ffmpeg(`-i pipe:0 -map 0:a -c copy ${format === 'mp3' ? '-write_xing 0 -id3v2_version 0 ' : ''}-f ${format}`, bytes)
    const body = (frame: Buffer): Buffer => frame.subarray(codec === 'aac' ? (parseAdtsHeader(frame, 0)?.headerBytes ?? 0) : 0)
    expect(frames.every((frame) => raw.includes(body(frame)))).toBe(true)
    const ms = frames.reduce((sum, frame) => sum + (known?.frameMs(frame) ?? 0), 0)
    expect(ms).toBeGreaterThan(SECONDS * 1000 - 100)
  })
})

it.each([true, false])('H.265 plays, as Enhanced RTMP has it: %s', (isEnhanced) => {
  const bytes = flvOf('-c:v libx264 -preset ultrafast -an')
  const { video, caps, others } = read(asH265(bytes, isEnhanced))
  expect(caps[0]?.encodingName).toBe('H265')
  expect([...(caps[0]?.parameters.keys() ?? [])]).toEqual(expect.arrayContaining(['sprop-vps', 'sprop-sps', 'sprop-pps']))
  expect([video.length, others]).toEqual([timesIn(bytes, 'v:0').length, []])
})

it('says what it does not carry, and that nothing more is to be waited for', () => {
  expect(read(flvOf('-c:v flv1 -an')).others).toContain('video')
  expect(read(flvOf('-c:v libx264 -preset ultrafast -c:a adpcm_swf -ar 44100')).others).toEqual(['adpcm'])
  expect(read(flvOf('-c:v libx264 -preset ultrafast -an')).awaitsCaps).toBe(false)
  expect(() => read(Buffer.alloc(1000, 0x47))).toThrow(FlvError)
})
